// The record and the list as elements. Text goes in as text; the one exception is `html`, which the
// server made from Markdown and sanitised.

const policy = globalThis.trustedTypes?.createPolicy("sophos-record", { createHTML: (html) => html });
const sanitised = (html) => policy?.createHTML(html) ?? html;

const SPEAKERS = { user: "You", assistant: "Assistant", tool: "Tool" };

function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

function folded(className, summary, content) {
  return element("details", className, element("summary", "", summary), content);
}

export function messageElement(message) {
  const article = element("article", `message ${message.role}`);
  article.append(element("h3", "", SPEAKERS[message.role]));
  if (message.reasoning) {
    article.append(folded("reasoning", "Reasoning", element("pre", "", message.reasoning)));
  }
  if (message.html) {
    const body = element("div", "body");
    body.innerHTML = sanitised(message.html);
    if (message.role === "tool") {
      article.append(folded(message.status, `${message.name ?? "tool"}: ${message.status}`, body));
    } else {
      article.append(body);
    }
  }
  for (const call of message.tool_calls ?? []) {
    const args = element("pre", "", JSON.stringify(call.args, null, 2));
    article.append(folded("call", `Calls ${call.name}`, args));
  }
  return article;
}

export function owedElement({ input }) {
  const body = element("div", "body", element("pre", "", input));
  const note = element("small", "", "Accepted, and not in the record yet.");
  return element("article", "message user", element("h3", "", SPEAKERS.user), body, note);
}

export function welcomeElement() {
  return element(
    "div",
    "welcome",
    element("p", "", "Send a message to start a run."),
    element(
      "p",
      "",
      "While it works you watch its stream. When it ends, this page reads the record again: what you see then is what was kept.",
    ),
  );
}

export function listItem(conversation, current) {
  const link = element("a", "", element("span", "name", conversation.title || "Untitled"));
  link.href = `#${conversation.id}`;
  link.title = conversation.title;
  if (conversation.id === current) link.setAttribute("aria-current", "page");
  if (conversation.status) link.append(statusElement(conversation.status));
  return element("li", "", link);
}

export function statusElement(status) {
  const made = element("span", "status", status);
  made.dataset.status = status;
  return made;
}
