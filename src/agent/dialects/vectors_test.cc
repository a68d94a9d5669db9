#include <gtest/gtest.h>

#include "agent/dialects/test_tools.h"

// What models wrote and what older engines made of it. `why` says where Chela does something else.
namespace chela::agent::dialects {
namespace {

struct Vector {
  std::string_view number;
  std::string_view input;
  std::string_view calls;
  std::string_view text;
  std::string_view why = "";
};

constexpr std::string_view kNone = "[]";

const Vector kVectors[] = {
    {"1",
     R"j({"content":" Looking now. ","tool_calls":[{"id":"call_7","type":"function","function":{"name":"file_read","arguments":"{\"path\":\"notes.md\"}"}}]})j",
     R"([{"name":"file_read","arguments":{"path":"notes.md"},"id":"call_7"}])", "Looking now."},
    {"2", R"({"tool_calls":[{"call_id":"c9","name":"shell","parameters":{"command":"id"}}]})",
     R"([{"name":"shell","arguments":{"command":"id"},"id":"c9"}])", ""},
    {"3", R"([{"name":"a","arguments":{}},{"name":"b","parameters":{"x":1}}])",
     R"([{"name":"a","arguments":{}},{"name":"b","arguments":{"x":1}}])", ""},
    {"4", R"({"name":"Alice","age":30})", kNone, R"({"name":"Alice","age":30})",
     "data with a name is no call"},
    {"4, a tool of that name", R"({"name":"a","age":30})", kNone, R"({"name":"a","age":30})",
     "nor with a known one, without arguments"},
    {"5", R"({"content":"Hi","tool_calls":[]})", kNone, R"({"content":"Hi","tool_calls":[]})"},
    {"6",
     "Plan:\n<tool_call>\n{\"name\":\"glob_search\",\"arguments\":{\"pattern\":\"*.cc\"}}\n</tool_call>\nok",
     R"([{"name":"glob_search","arguments":{"pattern":"*.cc"}}])", "Plan:\nok"},
    {"7", R"(<toolcall>{"name":"x","arguments":"{\"k\":2}"}</toolcall><tool-call>{"name":"y"}</tool-call>)",
     R"([{"name":"x","arguments":{"k":2}},{"name":"y","arguments":{}}])", ""},
    {"8", R"(<invoke>{"name":"shell","arguments":{"command":"uptime"}}</invoke>)",
     R"([{"name":"shell","arguments":{"command":"uptime"}}])", ""},
    {"9", R"(<minimax:toolcall>{"name":"q","arguments":{}}</minimax:toolcall>)",
     R"([{"name":"q","arguments":{}}])", ""},
    {"10", R"(<tool_call>[{"name":"a"},{"name":"b"}]</tool_call>)",
     R"([{"name":"a","arguments":{}},{"name":"b","arguments":{}}])", ""},
    {"11",
     "<tool_call>\n```json\n{\"name\":\"file_write\",\"arguments\":{\"path\":\"a\",\"content\":\"b\"}}\n```"
     "\n</tool_call>",
     R"([{"name":"file_write","arguments":{"path":"a","content":"b"}}])", ""},
    {"12", "<tool_call>not json at all</tool_call>tail", kNone, "tail"},
    {"13",
     "<tool_call><thinking>hm</thinking><memory_recall><query>rent due</query></memory_recall></tool_call>",
     R"([{"name":"memory_recall","arguments":{"query":"rent due"}}])", ""},
    {"14", R"(<tool_call><shell>{"command":"ls"}</shell></tool_call>)",
     R"([{"name":"shell","arguments":{"command":"ls"}}])", ""},
    {"15", "<tool_call><bash>ls -l</bash></tool_call>",
     R"([{"name":"bash","arguments":{"content":"ls -l"}}])", ""},
    {"16", R"(<tool_call><file_write><path>a.json</path><content>{"x":1}</content></file_write></tool_call>)",
     R"j([{"name":"file_write","arguments":{"path":"a.json","content":"{\"x\":1}"}}])j", "",
     "JSON in a text does not replace the arguments"},
    {"17",
     R"(<minimax:tool_call><invoke name="file_read"><parameter name="path">a.txt</parameter><parameter name="limit">20</parameter></invoke></minimax:tool_call>)",
     R"([{"name":"file_read","arguments":{"limit":20,"path":"a.txt"}}])", ""},
    {"18", R"(<INVOKE NAME="ping"></INVOKE>)", R"([{"name":"ping","arguments":{}}])", ""},
    {"19", R"(<invoke name="ping">plain</invoke>)", R"([{"name":"ping","arguments":{"content":"plain"}}])",
     ""},
    {"20", R"(<invoke name="shell"><parameter name="command">echo [1, 2]</parameter></invoke>)",
     R"([{"name":"shell","arguments":{"command":"echo [1, 2]"}}])", "", "a text stays a text"},
    {"21",
     R"(pre <invoke name="a"><parameter name="k">v</parameter></invoke> mid <tool_call>{"name":"b"}</tool_call>)",
     R"([{"name":"a","arguments":{"k":"v"}}])", "pre\nmid <tool_call>{\"name\":\"b\"}</tool_call>"},
    {"22", "Checking.\n```tool_call\n{\"name\":\"shell\",\"arguments\":{\"command\":\"date\"}}\n```\nDone.",
     R"([{"name":"shell","arguments":{"command":"date"}}])", "Checking.\nDone."},
    {"23", "```tool-call\n{\"name\":\"shell\",\"arguments\":{\"command\":\"date\"}}\n</tool_call>\nTail",
     R"([{"name":"shell","arguments":{"command":"date"}}])", "Tail"},
    {"24", "```invoke\n{\"name\":\"shell\"}\n```", R"([{"name":"shell","arguments":{}}])", ""},
    {"25", "```json\n{\"name\":\"shell\",\"arguments\":{}}\n```", kNone,
     "```json\n{\"name\":\"shell\",\"arguments\":{}}\n```"},
    {"26", "```tool file_write\n{\"path\":\"a\",\"content\":\"b\"}\n```",
     R"([{"name":"file_write","arguments":{"content":"b","path":"a"}}])", ""},
    {"27", "```tool bash\n[1]\n```", R"([{"name":"bash","arguments":{}}])", ""},
    {"28", "```tool shell\n{\"command\":\"ls\"}", R"([{"name":"shell","arguments":{"command":"ls"}}])", ""},
    {"29", "TOOL_CALL\n{tool => \"bash\", args => {\n  --command \"ls -la\"\n}}\n/TOOL_CALL",
     R"([{"name":"shell","arguments":{"command":"ls -la"}}])", ""},
    {"30", R"(ok [TOOL_CALL]{tool => "file_read", args => {--path "/a b"}}[/TOOL_CALL] end)",
     R"([{"name":"file_read","arguments":{"path":"/a b"}}])", "ok\nend", "no brackets are left"},
    {"31", "<FunctionCall>\nreadfile\n<code>path>/srv/a.md</code>\n</FunctionCall>",
     R"([{"name":"file_read","arguments":{"path":"/srv/a.md"}}])", ""},
    {"32", "shell/command>ls -la", R"([{"name":"shell","arguments":{"command":"ls -la"}}])", ""},
    {"33", "Note\nbrowser_open/url>https://ex.org/a\nEnd",
     R"([{"name":"shell","arguments":{"command":"curl -s 'https://ex.org/a'"}}])", "Note\n\nEnd"},
    {"34", R"(shell/{"command":"echo hi"})", R"([{"name":"shell","arguments":{"command":"echo hi"}}])", ""},
    {"35", "http/url>https://ex.org",
     R"([{"name":"http_request","arguments":{"method":"GET","url":"https://ex.org"}}])", ""},
    {"36a", "browser_open/url>javascript:x", kNone, "browser_open/url>javascript:x"},
    {"36b", "see https://ex.org/a>b", kNone, "see https://ex.org/a>b"},
    {"37", "input/output -> file", kNone, "input/output -> file", "input is no tool"},
    {"38", "/alpha/beta > gamma", kNone, "/alpha/beta > gamma", "a path is no tool"},
    {"39", R"(shell/{"command":"a > b"})", R"([{"name":"shell","arguments":{"command":"a > b"}}])", "",
     "> may stand in JSON"},
    {"40", "<tool_call>shell>uname -a</tool_call>",
     R"([{"name":"shell","arguments":{"command":"uname -a"}}])", ""},
    {"41", "<tool_call>shell>\ncommand: date\napproved: yes</tool_call>",
     R"([{"name":"shell","arguments":{"approved":true,"command":"date"}}])", ""},
    {"42", R"(<tool_call>file_read path=".env" /></tool_call>)",
     R"([{"name":"file_read","arguments":{"path":".env"}}])", ""},
    {"43", R"(<tool_call>sendmessage(channel="ops", message="hi")</tool_call>)",
     R"([{"name":"message_send","arguments":{"channel":"ops","message":"hi"}}])", ""},
    {"44", "<tool_call>shell(ls -la)</tool_call>", R"([{"name":"shell","arguments":{"command":"ls -la"}}])",
     ""},
    {"45", "<tool_call>web_search>weather in Oslo</tool_call>",
     R"([{"name":"web_search","arguments":{"query":"weather in Oslo"}}])", "",
     "a search is no shell command"},
    {"46", "<tool_call>my_tool>abc</tool_call>", R"([{"name":"my_tool","arguments":{"input":"abc"}}])", ""},
    {"47", "<tool_call>not-a-tool>v</tool_call>", kNone, ""},
    {"48", "<tool_call>{\"name\":\"shell\",\"arguments\":{\"command\":\"pwd\"}}\nDone",
     R"([{"name":"shell","arguments":{"command":"pwd"}}])", "Done"},
    {"49", "<tool_call>{\"name\":\"shell\",\"arguments\":{\"command\":\"up\"}}\n</arg_value>",
     R"([{"name":"shell","arguments":{"command":"up"}}])", ""},
    {"50", "<tool_call>shell>ls</invoke> z", R"([{"name":"shell","arguments":{"command":"ls"}}])", "z"},
    {"51", "<tool_call>shell>ls -la", R"([{"name":"shell","arguments":{"command":"ls -la"}}])", ""},
    {"52", R"(<tool_call><tool_call>{"name":"echo"}</tool_call></tool_call>)",
     R"([{"name":"echo","arguments":{}}])", "</tool_call>"},
    {"53a", R"(<tool_call>{"name":"s","arguments":{"c":"ls"</tool_call>)", kNone, ""},
    {"53b", "<tool_call>{}</tool_call>", kNone, ""},
    {"54", "text </tool_call> more", kNone, "text </tool_call> more"},
    {"55", R"(<think>plan</think><tool_call>{"name":"a"}</tool_call>)", R"([{"name":"a","arguments":{}}])",
     ""},
    {"56", R"(<think>open <tool_call>{"name":"a"}</tool_call>)", kNone, ""},
    {"57", R"(Data: {"name":"echo","arguments":{"m":"hi"}} end)", kNone,
     R"(Data: {"name":"echo","arguments":{"m":"hi"}} end)"},
    {"58", R"(<tool_call>{"id":" t1 ","name":" sp ","arguments":null}</tool_call>)",
     R"([{"name":"sp","arguments":null,"id":"t1"}])", ""},
    {"59", R"(<tool_call>{"function":{"id":5,"name":"f"},"id":"outer"}</tool_call>)",
     R"([{"name":"f","arguments":{}}])", ""},
    {"60a", R"(<tool_call>{"name":"a","arguments":"oops"}</tool_call>)", R"([{"name":"a","arguments":{}}])",
     ""},
    {"60b", R"(<tool_call>{"name":"a","arguments":"[1]"}</tool_call>)", R"([{"name":"a","arguments":[1]}])",
     ""},
    {"61a", R"(<TOOL_CALL>{"name":"a"}</TOOL_CALL>)", kNone, R"(<TOOL_CALL>{"name":"a"}</TOOL_CALL>)"},
    {"61b", R"(<tool_call name="f">{"name":"a"}</tool_call>)", kNone,
     R"(<tool_call name="f">{"name":"a"}</tool_call>)"},
    {"62", "A\n<tool_call>{\"name\":\"a\"}</tool_call>\nB\n```tool_call\n{\"name\":\"b\"}\n```",
     R"([{"name":"a","arguments":{}}])", "A\nB\n```tool_call\n{\"name\":\"b\"}\n```"},
    {"63", "<tool_call>junk</tool_call>\n```tool_call\n{\"name\":\"b\"}\n```",
     R"([{"name":"b","arguments":{}}])", "", "protocol is never shown, as in 12"},
    {"64", "</FunctionCall> <FunctionCall>shell<code>command>ls</code></FunctionCall>",
     R"([{"name":"shell","arguments":{"command":"ls"}}])", "</FunctionCall>", "ends, and finds the call"},
};

TEST(Vectors, GiveWhatIsListed) {
  for (const Vector& each : kVectors) {
    const bool bash = each.number == "15" || each.number == "27";
    std::vector<Tool> tools =
        named_tools({"a", "b", "x", "y", "q", "s", "sp", "f", "ping", "echo", "my_tool"});
    if (bash) tools.push_back({.name = "bash"});
    const Parser::Result result = parse(each.input, ToolSet(std::move(tools)));
    EXPECT_EQ(shown(result.calls), json::canonical(*json::parse(each.calls)))
        << each.number << " " << each.why;
    EXPECT_EQ(result.text, each.text) << each.number << " " << each.why;
  }
}

}  // namespace
}  // namespace chela::agent::dialects
