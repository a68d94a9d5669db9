"""`chela inspect tool-calls`: calls are found, and texts that only speak of calls have none."""

import json
import subprocess

import pytest

from support.documentation import texts
from support.process import BUILD, clean_environment

# Names that documentation is full of.
TOOLS = ["shell", "bash", "search", "web_search", "read", "file", "file_read", "file_write", "get", "list", "print", "run", "input", "http",
         "http_request", "fetch", "browser", "command", "open", "echo", "git", "python", "usr", "etc", "name", "and", "a", "b", "x"]
DECLARED = [{"name": name, "parameters": {"type": "object", "properties": {}}} for name in TOOLS]

CALL = '{"name": "shell", "arguments": {"command": "ls"}}'
FORMATS = [
    CALL,
    f"<tool_call>\n{CALL}\n</tool_call>",
    f"<tools>{CALL}</tools>",
    '<function_calls>\n<invoke name="shell">\n<parameter name="command">ls</parameter>\n</invoke>\n</function_calls>',
    "<tool_call>\n<function=shell>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
    "<tool_call>shell\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>",
    "shell/command>ls",
    '[shell(command="ls")]',
    f"[TOOL_CALLS][{CALL}]",
    '<|python_tag|>{"name": "shell", "parameters": {"command": "ls"}}<|eom_id|>',
    "<\uff5ctool\u2581call\u2581begin\uff5c>shell<\uff5ctool\u2581sep\uff5c>{}<\uff5ctool\u2581call\u2581end\uff5c>",
    f"\u25c1\n{CALL}\n\u25b7",
    'TOOL_CALL\n{tool => "shell", args => {--command "ls"}}\n/TOOL_CALL',
    "<FunctionCall>\nshell\n<code>command>ls</code>\n</FunctionCall>",
    'Action: [{"tool_name": "shell", "parameters": {"command": "ls"}}]',
]
QUOTES = [
    "A model writes it so:\n```\n{}\n```\nand waits.",
    "A model writes it so:\n\n```json\n{}\n```",
    "A model writes it so:\n~~~xml\n{}\n~~~\nand waits.",
    "1. The format:\n   ````text\n   {}\n   ````\n2. The result.",
    "In a word: ``{}`` is what it writes.",
    "<think>I could write {} but I need not.</think>No tool is needed.",
]
WRITTEN = [
    "I would call the shell tool here, but nothing has to be run.",
    "You can use file_read to read it, and web_search to look it up.",
    "The shell (bash) reads its input, and/or the file.",
    "shell(ls) is how some people write it.",
    "Use `<tool_call>` to open and `</tool_call>` to close.",
    "The tags <tool_call> and </tool_call> enclose a JSON object.",
    "An orphan </tool_call> means nothing.",
    "TOOL_CALL is an old mark.\nTOOL_CALL blocks were written by hand.",
    "[TOOL_CALLS] begins a list of calls in Mistral's format.",
    "Action: none needed, the file is there already.",
    "Action: search the web\nAction Input: weather in Oslo",
    "$ ls -la /usr/bin\ntotal 12\n-rwxr-xr-x 1 root root 1234 shell\n$ echo done > /tmp/x",
    "$ cat <<EOF > file\n<tool>\nEOF",
    "root@host:/etc# grep -r 'name' . | head > /tmp/out",
    "bash: line 1: fetch: command not found",
    "For x in [a, b]: x < 3 and b > 2, so a/b > 1.",
    "f(x) = [a(x), b(x)] for all x > 0",
    "$$\\int_a^b f(x)\\,dx < \\infty$$ where a/b > x",
    "[a(1), b(2)]",
    "[x for x in range(10)]",
    "The list [shell(command='ls')] is Python.",
    '{"name": "Alice", "age": 30}',
    '{"name": "shell", "description": "runs commands"}',
    '[{"name": "a"}, {"name": "b"}]',
    '{"content": "Hi", "tool_calls": []}',
    '{"id": 7, "name": "echo", "items": [1, 2]}',
    'Here is the object: {"name": "shell", "arguments": {"command": "ls"}} as you asked.',
    '{"name": "shell", "arguments": {"command": "ls"}} is what the model wrote.',
    "name: shell\narguments:\n  command: ls",
    "tool: shell\ncommand: >\n  ls -la\n  echo",
    "<ul><li>shell</li><li><a href='x'>file</a></li></ul>",
    "<p>run</p><input name=\"a\"><command>ls</command>",
    "<shell><command>ls</command></shell>",
    "<function name='a'>text</function>",
    "<tool_result name=\"shell\" status=\"ok\">\nfile.txt\n</tool_result>",
    "[Tool results]\n<tool_result name=\"shell\" status=\"ok\">\n{\"name\": \"shell\"}\n</tool_result>",
    "The result of shell was: {\"ok\": true}.",
    "input/output -> file",
    "/usr/bin/shell > /tmp/out",
    "read/write > read-only",
    "and/or > neither",
    "usr/bin>ls",
    "see https://example.org/a>b",
    "http://example.org/x and browser/open",
    "browser_open/url>javascript:alert(1)",
    "a\u25c1b and b\u25b7a are triangles.",
    "<think>shell/command>ls</think>",
    "<think>never closed <tool_call>" + CALL + "</tool_call>",
    '<tool_call>{"name": "shell", "arguments": {"command": "ls"',
    '<tool_call>{"name": "unknown", "arguments": {}}</tool_call>',
    '<tools>[{"type": "function", "function": {"name": "shell", "description": "runs", "parameters": {"type": "object", "properties": {}}}}]</tools>',
    '<tools>\n{"name": "shell", "parameters": {"type": "object", "properties": {"command": {"type": "string"}}}}\n</tools>',
    "<tool_call></tool_call>",
    "<tool_call>{}</tool_call>",
    '<tool_call>{"name": " "}</tool_call>',
    '<TOOL_CALL>' + CALL + '</TOOL_CALL>',
    "functools is a module of Python, functools[0] is none.",
    "The <invoke> element and <invoke name=\"\"> have no tool.",
    "I am done. The command `ls` gave 3 files.",
    "| tool | use |\n|---|---|\n| shell | run > see |",
]


def inspect(rows):
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    done = subprocess.run([BUILD / "bin" / "chela", "inspect", "tool-calls"], input=lines, capture_output=True, text=True,
                          env=clean_environment(), timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(rows)
    return answers


def test_each_line_has_its_answer_in_order():
    rows = [{"text": f"n{number} <tool_call>{{\"name\": \"shell\", \"arguments\": {{\"command\": \"echo {number}\"}}}}</tool_call>", "tools": DECLARED}
            for number in range(500)]
    for number, answer in enumerate(inspect(rows)):
        assert answer == {"text": f"n{number}", "calls": [{"name": "shell", "arguments": {"command": f"echo {number}"}}]}


def test_what_is_no_json_is_answered_too():
    done = subprocess.run([BUILD / "bin" / "chela", "inspect", "tool-calls"], input="nonsense\n{\"text\": \"x\"}\n", capture_output=True,
                          text=True, env=clean_environment(), timeout=60, check=False)
    first, second = map(json.loads, done.stdout.splitlines())
    assert done.returncode == 0 and first["calls"] == [] and first["error"]
    assert second == {"text": "x", "calls": []}


@pytest.mark.parametrize("quote", QUOTES)
def test_quoted_formats_are_no_calls(quote):
    quoted = [quote.format(each) for each in FORMATS]
    for text, answer in zip(quoted, inspect([{"text": text, "tools": DECLARED} for text in quoted])):
        assert answer["calls"] == [], text


def test_texts_that_speak_of_tools_are_no_calls():
    assert len(WRITTEN) + len(FORMATS) * len(QUOTES) >= 150
    for text, answer in zip(WRITTEN, inspect([{"text": text, "tools": DECLARED} for text in WRITTEN])):
        assert answer["calls"] == [], text


def test_documentation_is_no_call_and_stays_as_it_is():
    documents = texts(200)
    for (path, text), answer in zip(documents, inspect([{"text": text, "tools": DECLARED} for _, text in documents])):
        assert answer["calls"] == [], path
        if "<" not in text:
            assert answer["text"] == text.strip(" \t\r\n"), path
