// The files of a conversation, with a preview of text and pictures.

import { get, path } from "../api.js";
import { h, keyed, pushButton, setAttribute, setHidden, setText } from "../dom.js";
import { Part } from "../part.js";
import { talks } from "../talks.js";
import { bytes, visible } from "../visible.js";

class TalkFiles extends Part {
  start() {
    this.className = "panel";
    this.list = h("ul", { class: "files" });
    this.preview = h("section", { class: "preview", "aria-label": "Preview", tabindex: "0", hidden: true });
    this.replaceChildren(h("h2", { text: "Files" }), this.list, this.preview);
    this.watch("talks", () => this.#paint());
  }

  #paint() {
    const talk = talks.get(this.conversation);
    const files = [...new Map((talk?.files ?? []).map((file) => [file.path, file])).values()]; // last change wins
    setHidden(this, !files.length);
    keyed(
      this.list,
      files,
      (file) => file.path,
      (file) => this.#row(file),
      (row, file) => {
        setText(row.about, `${file.change} by ${visible(file.by, 60)}, ${bytes(file.size)}`);
        setHidden(row.mark, !file.outside);
        setText(row.mark, file.named ? "outside of outputs/, as requested" : "outside of outputs/");
        row.button.disabled = file.change === "deleted";
      },
    );
  }

  #row(file) {
    const row = h("li");
    row.button = pushButton(visible(file.path), () => this.#toggle(file.path, row.button), {
      class: "file",
      "aria-expanded": "false",
    });
    row.about = h("span", { class: "muted" });
    row.mark = h("span", { class: "badge" });
    row.append(row.button, row.about, row.mark);
    return row;
  }

  async #toggle(name, button) {
    const closing = this.shown === name;
    this.shown = closing ? null : name;
    for (const each of this.list.querySelectorAll("button"))
      setAttribute(each, "aria-expanded", String(!closing && each === button));
    setHidden(this.preview, closing);
    if (closing) return this.preview.replaceChildren();
    this.preview.replaceChildren(h("p", { class: "muted", text: "Loading …" }));
    const query = new URLSearchParams({ path: name });
    const look = await get(`${path`/api/conversations/${this.conversation}/file`}?${query}`).catch(
      (problem) => ({ problem }),
    );
    if (this.shown === name) this.preview.replaceChildren(...seen(look, name));
  }
}

function seen(look, name) {
  if (look.problem) return [h("p", { class: "error", text: look.problem.message })];
  const changed = look.changed ? [h("p", { class: "muted", text: "Changed after this conversation." })] : [];
  if (look.kind === "picture") return [...changed, h("img", { src: look.picture, alt: visible(name) })];
  if (look.kind === "other")
    return [...changed, h("p", { class: "muted", text: `Not a text file (${bytes(look.size)}).` })];
  const more = look.cut
    ? [h("p", { class: "muted", text: `Truncated: the file has ${bytes(look.size)}.` })]
    : [];
  return [...changed, h("pre", { text: look.text || "(empty)" }), ...more];
}

customElements.define("talk-files", TalkFiles);
