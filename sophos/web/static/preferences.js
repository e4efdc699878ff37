// How this person wants the page: light or dark, and whether the runtime is in sight. Kept in the
// browser, where that is allowed.

const THEMES = ["auto", "light", "dark"];
const WIDE = "(min-width: 60rem)";

function recalled(name) {
  try {
    return localStorage.getItem(`sophos ${name}`);
  } catch {
    return null;
  }
}

function keep(name, value) {
  try {
    localStorage.setItem(`sophos ${name}`, value);
  } catch {
    // Not allowed here: it holds as long as the page.
  }
}

export function offerThemes(button) {
  const use = (theme) => {
    document.documentElement.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
  };
  use(THEMES.includes(recalled("theme")) ? recalled("theme") : "auto");
  button.addEventListener("click", () => {
    const now = THEMES.indexOf(document.documentElement.dataset.theme);
    const theme = THEMES[(now + 1) % THEMES.length];
    use(theme);
    keep("theme", theme);
  });
}

// A button that shows and hides a part of the page; `part` is its name in the style sheet.
export function offerPart(part, button, { byDefault, kept }) {
  const use = (shown) => {
    document.body.classList.toggle(`with-${part}`, shown);
    button.setAttribute("aria-expanded", String(shown));
  };
  const said = kept ? recalled(part) : null;
  use(said === null ? byDefault : said === "shown");
  button.addEventListener("click", () => {
    const shown = !document.body.classList.contains(`with-${part}`);
    use(shown);
    if (kept) keep(part, shown ? "shown" : "hidden");
  });
  return use;
}

export const isWide = () => matchMedia(WIDE).matches;
