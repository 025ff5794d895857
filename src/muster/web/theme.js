// Colour theme: system, light or dark. The choice is kept in this browser.

const CHOICES = ["system", "light", "dark"];

export function startTheme() {
  apply(localStorage.getItem("theme") ?? "system");
}

export function nextTheme() {
  const now = localStorage.getItem("theme") ?? "system";
  const next = CHOICES[(CHOICES.indexOf(now) + 1) % CHOICES.length];
  localStorage.setItem("theme", next);
  apply(next);
}

function apply(choice) {
  if (choice === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = choice;
  document.getElementById("theme").setAttribute("aria-label", `Theme: ${choice}`);
}
