// Whether this browser is let in: sent to sign in when the server asks for it, and signed out again, in
// every tab at once.

const PLACE = "sophos place";
const TABS = `sophos session ${location.pathname}`;

let admitted = false; // whether this page has been let in before

export function letIn() {
  admitted = true;
}

// Signing in leads back to the page alone: which conversation was wanted is kept meanwhile.
export function signIn() {
  sessionStorage.setItem(PLACE, location.hash.slice(1));
  location.assign(admitted ? "sign-in?because=ended" : "sign-in");
}

export function placeBeforeSigningIn() {
  const place = sessionStorage.getItem(PLACE) ?? "";
  sessionStorage.removeItem(PLACE);
  return place;
}

// `end` is the request that ends the session. Without its answer nothing is left: who walks away from
// this computer must be able to rely on what it says.
export function offerSignOut(button, { end, failed }) {
  const tabs = new BroadcastChannel(TABS);
  tabs.addEventListener("message", () => leave("ended"));
  button.addEventListener("click", async () => {
    try {
      await end();
    } catch (error) {
      failed(error);
      return;
    }
    tabs.postMessage("signed out");
    leave("out");
  });
}

function leave(because) {
  // The button Back must not bring to light again what stood here.
  document.body.hidden = true;
  addEventListener("pageshow", () => location.reload());
  location.replace(`sign-in?because=${because}`);
}
