// Untrusted text in one line: control and bidirectional characters, which could reorder or hide parts of it, are
// replaced by their code point. Longer text is shown as it is, isolated with `unicode-bidi: isolate`.

const TRICKS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the subject
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

/** One line with invisible characters made visible: `invoice⟨U+202E⟩fdp.exe`. */
export function visible(text, most = 300) {
  const line = text.length > most ? `${text.slice(0, most)}… (${text.length} characters)` : text;
  return line.replace(/\s*\n\s*/g, " ").replace(TRICKS, named);
}

// biome-ignore lint/suspicious/noMisleadingCharacterClass: each is matched alone
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0]/gu;

/** A whole text with invisible characters made visible, for an approval decision. */
export function everyLine(text) {
  return text.replace(UNSEEN, (char) => (char === "\n" || char === "\t" ? char : named(char)));
}

const named = (char) => `⟨U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;

/** Truncate a text, and say how many characters were omitted. */
export function cut(text, most) {
  return text.length > most ? `${text.slice(0, most)}\n… (${text.length - most} more characters)` : text;
}

/** A size in readable units. */
export function bytes(size) {
  if (size < 1000) return `${size} bytes`;
  return size < 1e6 ? `${(size / 1000).toFixed(1)} KB` : `${(size / 1e6).toFixed(1)} MB`;
}
