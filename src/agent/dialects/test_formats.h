#pragma once

#include <string_view>

// One call in every notation that models write.
namespace chela::agent::dialects {

struct WrittenCall {
  std::string_view name;
  std::string_view text;
};

// Each is the call of the tool shell with the command ls.
inline constexpr WrittenCall kWrittenCalls[] = {
    {"triangles", "\u25C1\n{\"name\": \"shell\", \"arguments\": {\"command\": \"ls\"}}\n\u25B7"},
    {"OpenAI body",
     R"({"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"type":"function","function":{"name":"shell","arguments":"{\"command\":\"ls\"}"}}]}}]})"},
    {"Hermes", "<tool_call>\n{\"name\": \"shell\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call>"},
    {"tools", R"(<tools>{"name": "shell", "arguments": {"command": "ls"}}</tools>)"},
    {"tool_calls",
     R"(<tool_calls>[{"type": "function", "function": {"name": "shell", "arguments": {"command": "ls"}}}]</tool_calls>)"},
    {"function_calls",
     "<function_calls>\n<invoke name=\"shell\">\n<parameter "
     "name=\"command\">ls</parameter>\n</invoke>\n</function_calls>"},
    {"function_calls with a name space",
     "<antml:function_calls>\n<antml:invoke name=\"shell\">\n<antml:parameter "
     "name=\"command\">ls</antml:parameter>\n</antml:invoke>\n</antml:function_calls>"},
    {"Qwen3-Coder",
     "<tool_call>\n<function=shell>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>"},
    {"Qwen3-Coder without wrapper", "<function=shell>\n<parameter=command>\nls\n</parameter>\n</function>"},
    {"Grok",
     R"(<xai:function_call name="shell"><xai:parameter name="command">ls</xai:parameter></xai:function_call>)"},
    {"GLM 4.5", "<tool_call>shell\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>"},
    {"Llama 3", R"(<|python_tag|>{"name": "shell", "parameters": {"command": "ls"}}<|eom_id|>)"},
    {"Llama 3 without tag", R"({"name": "shell", "parameters": {"command": "ls"}}<|eot_id|>)"},
    {"Llama's own tools", R"(<|python_tag|>shell.call(command="ls"))"},
    {"Llama 4", R"([shell(command="ls")])"},
    {"Llama 4 with marks", R"(<|python_start|>[shell(command="ls")]<|python_end|>)"},
    {"Mistral list", R"([TOOL_CALLS] [{"name": "shell", "arguments": {"command": "ls"}}])"},
    {"Mistral name", R"([TOOL_CALLS]shell{"command": "ls"})"},
    {"Mistral arguments", R"([TOOL_CALLS]shell[ARGS]{"command": "ls"})"},
    {"DeepSeek V3",
     "<\uFF5Ctool\u2581calls\u2581begin\uFF5C><\uFF5Ctool\u2581call\u2581begin\uFF5C>function<"
     "\uFF5Ctool\u2581sep\uFF5C>shell\n```json\n{\"command\": "
     "\"ls\"}\n```<\uFF5Ctool\u2581call\u2581end\uFF5C><\uFF5Ctool\u2581calls\u2581end\uFF5C>"},
    {"DeepSeek V3.1",
     "<\uFF5Ctool\u2581calls\u2581begin\uFF5C><\uFF5Ctool\u2581call\u2581begin\uFF5C>shell<"
     "\uFF5Ctool\u2581sep\uFF5C>{\"command\": "
     "\"ls\"}<\uFF5Ctool\u2581call\u2581end\uFF5C><\uFF5Ctool\u2581calls\u2581end\uFF5C>"},
    {"Cohere",
     "Action: ```json\n[\n  {\"tool_name\": \"shell\", \"parameters\": {\"command\": \"ls\"}}\n]\n```"},
    {"Granite", R"(<|tool_call|>[{"name": "shell", "arguments": {"command": "ls"}}])"},
    {"Phi-4", R"(<|tool_call|>[{"name": "shell", "arguments": {"command": "ls"}}]<|/tool_call|>)"},
    {"Phi-4 functools", R"(functools[{"name": "shell", "arguments": {"command": "ls"}}])"},
    {"fence", "```tool_call\n{\"name\": \"shell\", \"arguments\": {\"command\": \"ls\"}}\n```"},
    {"named fence", "```tool shell\n{\"command\": \"ls\"}\n```"},
    {"FunctionCall", "<FunctionCall>\nshell\n<code>command>ls</code>\n</FunctionCall>"},
    {"Perl", "[TOOL_CALL]{tool => \"shell\", args => {--command \"ls\"}}[/TOOL_CALL]"},
    {"GLM line", "shell/command>ls"},
    {"elements", "<tool_call><shell><command>ls</command></shell></tool_call>"},
};

}  // namespace chela::agent::dialects
