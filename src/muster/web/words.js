// Command lines: the words that a person typed, and words as a person would type them.

/** A command line that is not complete, with the place of the mistake. */
export class UnfinishedCommand extends Error {}

/** The words of a command line: blanks separate, quotes and backslashes keep. Throws `UnfinishedCommand`. */
export function words(text) {
  const found = [];
  let word = null;
  let quote = null; // {char, at} while a quote is open
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (quote) {
      if (char === quote.char) quote = null;
      else if (char === "\\" && quote.char === '"' && '"\\$`'.includes(text[at + 1] ?? " "))
        word += text[++at];
      else word += char;
    } else if (char === "'" || char === '"') {
      quote = { char, at };
      word ??= "";
    } else if (char === "\\") {
      if (at + 1 === text.length) throw unfinished(text, at, "Nothing follows the backslash");
      word = (word ?? "") + text[++at];
    } else if (/\s/.test(char)) {
      if (word !== null) found.push(word);
      word = null;
    } else word = (word ?? "") + char;
  }
  if (quote) throw unfinished(text, quote.at, `The quote ${quote.char} is not closed`);
  if (word !== null) found.push(word);
  return found;
}

const AROUND = 16; // characters shown after the place of a mistake

function unfinished(text, at, what) {
  const rest = text.slice(at, at + AROUND) + (text.length > at + AROUND ? "…" : "");
  const remedy = text[at] === "\\" ? "Write two for the character itself" : "Close it, or write \\ before it";
  return new UnfinishedCommand(`${what}: character ${at + 1}, at ${rest} . ${remedy}.`);
}

const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

/** Words as a command line. */
export const commandLine = (list) => list.map(quoted).join(" ");
