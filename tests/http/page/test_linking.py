"""Modules of the dashboard, joined into one script."""

import pytest

from muster.http.page.linking import NotLinked, linked

MODULES = {
    "app.js": b"""import "./parts/first.js";
import * as words from "./words.js";
import {
  second,
} from "./parts/second.js";
print(second(), words.HELLO);
""",
    "words.js": b'export const HELLO = "hello";\nexport function loud() {}\n',
    "parts/first.js": b"print(1);\n",
    "parts/second.js": b"""import { HELLO as hello } from "../words.js";
export async function second() {
  return hello;
}
""",
    "unused.js": b"print(2);\n",
}


def test_a_module_is_called_once_after_those_that_it_imports() -> None:
    assert (
        linked("app.js", MODULES).decode()
        == """(()=>{print(1);
})();
const $words=(()=>{const HELLO = "hello";
function loud() {}
return{HELLO,loud}})();
const $parts_second=(()=>{const { HELLO:hello }=$words;
async function second() {
  return hello;
}
return{second}})();

const words=$words;
const {
  second,
}=$parts_second;
print(second(), words.HELLO);
"""
    )


def test_modules_that_import_each_other_are_refused_with_their_names() -> None:
    circle = {"a.js": b'import "./b.js";\n', "b.js": b'import "./a.js";\n'}
    with pytest.raises(NotLinked, match=r"a\.js > b\.js > a\.js"):
        linked("a.js", circle)


def test_an_import_of_a_name_that_is_not_exported_is_refused() -> None:
    modules = {"a.js": b'import { b, c as d } from "./b.js";\n', "b.js": b"export const b = 1;\n"}
    with pytest.raises(NotLinked, match=r"a\.js: b\.js does not export c"):
        linked("a.js", modules)


@pytest.mark.parametrize(
    "line",
    ["export let shown = 1;", "export default 1;", 'export * from "./b.js";', 'import("./b.js");'],
)
def test_what_cannot_be_joined_is_refused_with_its_line(line: str) -> None:
    with pytest.raises(NotLinked) as refused:
        linked("a.js", {"a.js": line.encode()})
    assert line in str(refused.value)
