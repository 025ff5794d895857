// All views. A view is loaded when it is first shown; views with a `tab` are in the top bar, with a number key each.

export const VIEWS = [
  { name: "", tab: "Team", element: "team-view", load: () => import("./team.js") },
  { name: "agent", under: "", element: "agent-view", load: () => import("./agent.js") },
  { name: "channel", tab: "Channels", element: "channel-view", load: () => import("./channel.js") },
  {
    name: "conversation",
    tab: "Tasks",
    element: "conversation-view",
    load: () => import("./conversation.js"),
  },
  { name: "time", tab: "Time", element: "time-view", load: () => import("./time.js") },
];
