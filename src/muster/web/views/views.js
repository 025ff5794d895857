// All views; app.js loads their modules. Views with a `tab` are in the top bar, with a number key each.

export const VIEWS = [
  { name: "", tab: "Team", element: "team-view" },
  { name: "agent", under: "", element: "agent-view" },
  { name: "channel", tab: "Channels", element: "channel-view" },
  { name: "conversation", tab: "Tasks", element: "conversation-view" },
  { name: "time", tab: "Time", element: "time-view" },
];
