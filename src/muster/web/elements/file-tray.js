// Files of a message: chosen, dropped or pasted, sent to the server at once, named in the message by their digests.

import { at } from "../address.js";
import { upload } from "../api.js";
import { h, keyed, pushButton, setHidden, setText } from "../dom.js";
import { bytes, visible } from "../visible.js";

const FILE_BYTES_MAX = 8 * 1024 * 1024;
const FILE_LIMIT = "8 MiB";

/** The files of the message that is being written in a form. */
export class FileTray {
  #files = []; // {id, name, size, digest | null while it is sent, error}
  #ids = 0;
  #uploads = Promise.resolve();
  #picker = h("input", {
    type: "file",
    multiple: true,
    hidden: true,
    "aria-label": "Files to attach",
    on: { change: () => this.#pick() },
  });
  button = pushButton("Attach", () => this.#picker.click(), {
    title: `Attach files, up to ${FILE_LIMIT} each; or drop them here, or paste them`,
  });
  list = h("ul", { class: "files", "aria-label": "Attached files", hidden: true });

  /** Take what is pasted into a form or dropped on it. */
  follow(form) {
    form.append(this.#picker);
    form.addEventListener("paste", (event) => this.#take(event, event.clipboardData));
    form.addEventListener("dragover", (event) => {
      if (!event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      form.classList.add("over");
    });
    form.addEventListener("dragleave", () => form.classList.remove("over"));
    form.addEventListener("drop", (event) => {
      form.classList.remove("over");
      this.#take(event, event.dataTransfer);
    });
  }

  /** The text with the files, as the server takes them; null for nothing to send, or while a file is not there yet. */
  message(written) {
    if (this.#files.some(({ digest }) => !digest)) return null;
    const message = written.trim() ? written : this.#files.map(({ name }) => name).join(", ");
    if (!message) return null;
    return { message, ...(this.#files.length && { files: this.#files.map(({ digest }) => digest) }) };
  }

  /** Wait until no file is on its way any more, be it there or refused. */
  uploaded() {
    return this.#uploads;
  }

  clear() {
    this.#files = [];
    this.#paint();
  }

  #pick() {
    this.#add(this.#picker.files);
    this.#picker.value = ""; // so that the same file can be chosen again
  }

  #take(event, { files }) {
    if (!files.length) return;
    event.preventDefault();
    this.#add(files);
  }

  #add(files) {
    this.#uploads = Promise.all([this.#uploads, ...Array.from(files, (file) => this.#upload(file))]);
  }

  async #upload(file) {
    this.#ids += 1;
    const entry = { id: this.#ids, name: file.name || "pasted", size: file.size, digest: null, error: "" };
    this.#files.push(entry);
    if (file.size > FILE_BYTES_MAX) {
      entry.error = `is ${bytes(file.size)}; the limit is ${FILE_LIMIT}`;
      return this.#paint();
    }
    this.#paint();
    try {
      const { digest } = await upload(`/api/files?${new URLSearchParams({ name: entry.name })}`, file);
      if (this.#files.some((each) => each.digest === digest)) return this.#forget(entry); // it is there already
      entry.digest = digest;
    } catch (problem) {
      entry.error = problem.message;
    }
    this.#paint();
  }

  #paint() {
    setHidden(this.list, !this.#files.length);
    keyed(
      this.list,
      this.#files,
      ({ id }) => id,
      (entry) =>
        h(
          "li",
          {},
          h("span", { text: visible(entry.name, 80) }),
          h("span", { class: "age" }),
          pushButton("✕", () => this.#forget(entry), {
            class: "quiet",
            "aria-label": `Remove ${visible(entry.name, 80)}`,
          }),
        ),
      (item, entry) => {
        const [, state] = item.children;
        setText(state, entry.error || (entry.digest ? bytes(entry.size) : "sending …"));
        state.classList.toggle("error", Boolean(entry.error));
      },
    );
  }

  #forget(entry) {
    this.#files = this.#files.filter((each) => each !== entry);
    this.#paint();
  }
}

/** Attached files as links, images as pictures. The server sends each as a download in a sandbox, never as a page. */
export const fileList = (attached) =>
  h(
    "ul",
    { class: "files", "aria-label": "Files" },
    attached.map(({ name, digest, size, mediaType }) => {
      const href = at(`/api/files/${encodeURIComponent(digest)}`);
      const text = visible(name, 120);
      return h(
        "li",
        {},
        h(
          "a",
          { href, download: name },
          mediaType.startsWith("image/") ? h("img", { src: href, alt: text, loading: "lazy" }) : text,
        ),
        h("span", { class: "age", text: bytes(size) }),
      );
    }),
  );
