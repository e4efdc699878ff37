// A second yes, before what cannot be undone. `after` takes the focus then: what had it may be gone.

export function askedBy(dialog, after) {
  const [no, yes] = dialog.querySelectorAll("button");
  let then = null;
  no.addEventListener("click", () => dialog.close());
  yes.addEventListener("click", () => {
    dialog.close();
    after.focus();
    then();
  });
  return (name, whatThen) => {
    then = whatThen;
    dialog.querySelector("b").textContent = name;
    dialog.showModal(); // focuses the first button: the one that changes nothing
  };
}
