#include "tools/builtin/file_tools.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/limits.h"
#include "tools/builtin/tool_fixture.h"

namespace chela::tools {
namespace {

namespace fs = std::filesystem;

class FileTools : public BuiltinTest {
 protected:
  FileTools() { fs::create_directories(root()); }
  void put(const std::string& path, const std::string& content) {
    fs::create_directories(fs::path(root() + "/" + path).parent_path());
    std::ofstream(root() + "/" + path, std::ios::binary) << content;
  }
  std::string content_of(const std::string& path) const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // What the tool gave, without the frame around untrusted text.
  std::string read(const std::string& more) { return text("read_file", "{\"path\": " + more + "}"); }
};

TEST_F(FileTools, ReadsInAFrame) {
  put("a.txt", "one\ntwo\n");
  EXPECT_EQ(call("read_file", R"({"path": "a.txt"})").text,
            "<tool_output name=\"read_file\" sanitized=\"false\">\none\ntwo\n</tool_output>");
  EXPECT_EQ(read("\"./a.txt\""), "one\ntwo");
  EXPECT_EQ(read("\"" + root() + "/a.txt\""), "one\ntwo");
}

TEST_F(FileTools, OffsetAndLimitAreLinesAndAreClamped) {
  put("a.txt", "1\n\n3\n4\n5");
  EXPECT_EQ(read(R"("a.txt", "offset": 2, "limit": 2)"), "\n3\n[lines 2 to 3 of 5; go on with offset 4]");
  EXPECT_EQ(read(R"("a.txt", "offset": 4, "limit": 99999)"), "4\n5\n[lines 4 to 5 of 5]");
  EXPECT_EQ(read(R"("a.txt", "offset": -3, "limit": 0)"), "1\n[lines 1 to 1 of 5; go on with offset 2]");
  EXPECT_EQ(read(R"("a.txt", "offset": 9)"), "[a.txt has 5 lines; there is nothing at line 9]");
  EXPECT_EQ(read(R"("a.txt", "offset": 9223372036854775807)"),
            "[a.txt has 5 lines; there is nothing at line 4611686018427387903]");
  put("empty", "");
  EXPECT_EQ(read("\"empty\""), "[empty is empty]");
  put("blank", "\n\n\nx\n");
  EXPECT_EQ(read("\"blank\""), "\n\n\nx");
}

TEST_F(FileTools, BigFilesComeInPieces) {
  std::string lines;
  for (int i = 1; i <= 30'000; ++i) lines += fmt::format("line {}\n", i);
  put("big", lines);
  std::string all;
  int offset = 1;
  for (int calls = 0; calls < 100 && offset <= 30'000; ++calls) {
    std::string text =
        call("read_file", fmt::format(R"({{"path": "big", "offset": {}, "limit": 100000}})", offset)).text;
    EXPECT_LE(text.size(), kMaxReadBytes + 200);
    text = text.substr(text.find('\n') + 1);
    text = text.substr(0, text.rfind("\n[lines"));
    offset += static_cast<int>(std::count(text.begin(), text.end(), '\n')) + 1;
    all += text + "\n";
  }
  EXPECT_TRUE(all == lines);
}

TEST_F(FileTools, ALineThatIsTooLongIsCutBetweenCharacters) {
  std::string line = "x";
  for (std::size_t i = 0; i < kMaxReadBytes; ++i) line += "\xC3\xA4";
  put("long", line + "\nnext\n");
  const std::string text = call("read_file", R"({"path": "long"})").text;
  EXPECT_FALSE(text.contains("\xEF\xBF\xBD"));
  EXPECT_TRUE(text.contains(
      "[line 1 is longer than 65536 bytes and is cut]\n[lines 1 to 1 of 2; go on with offset 2]"))
      << text.substr(text.size() - 200);
  EXPECT_EQ(read(R"("long", "offset": 2)"), "next\n[lines 2 to 2 of 2]");
}

TEST_F(FileTools, WhatIsNoTextFileIsRefused) {
  put("binary", std::string("ELF\0\1\2", 6));
  fs::create_directories(root() + "/sub");
  ASSERT_EQ(::mkfifo((root() + "/pipe").c_str(), 0600), 0);
  EXPECT_TRUE(read("\"binary\"").contains("is a binary file"));
  EXPECT_TRUE(read("\"sub\"").contains("is a directory; use list_dir"));
  EXPECT_TRUE(read("\"pipe\"").contains("no regular file"));
  EXPECT_TRUE(call("read_file", R"({"path": "missing"})").is_error);
}

TEST_F(FileTools, NothingOutsideTheWorkspaceCanBeReached) {
  const std::string secret = dir.path() + "/secret";
  std::ofstream(secret) << "hidden";
  std::ofstream(dir.path() + "/workspace/other") << "hidden";
  fs::create_symlink(secret, root() + "/absolute");
  fs::create_symlink("../../secret", root() + "/relative");
  fs::create_directory_symlink(dir.path(), root() + "/folder");
  put("inside.txt", "fine");
  fs::create_symlink("inside.txt", root() + "/good");
  for (const std::string& path :
       {std::string("absolute"), std::string("relative"), std::string("folder/secret"),
        std::string("../other"), std::string("../../secret"), std::string("x/../../other"), secret,
        std::string("/etc/passwd"), std::string("/proc/self/environ")}) {
    const FinishedCall got = call("read_file", "{\"path\": \"" + path + "\"}");
    EXPECT_TRUE(got.is_error) << path << ": " << got.text;
    EXPECT_FALSE(got.text.contains("hidden")) << path;
    EXPECT_TRUE(call("write_file", "{\"path\": \"" + path + "\", \"content\": \"spoilt\"}").is_error) << path;
    EXPECT_TRUE(call("list_dir", "{\"path\": \"" + path + "\"}").is_error) << path;
  }
  EXPECT_EQ(content_of(secret), "hidden");
  EXPECT_EQ(read("\"good\""), "fine");
}

TEST_F(FileTools, UsersDoNotShareFiles) {
  put("a.txt", "ann's");
  scope.user = "bob";
  EXPECT_TRUE(call("read_file", R"({"path": "a.txt"})").is_error);
  scope = {.realm = "other", .user = "ann", .agent = ""};
  EXPECT_TRUE(call("read_file", R"({"path": "a.txt"})").is_error);
}

TEST(Workspaces, NeverLeadOutAndNeverMeet) {
  const Workspaces workspaces("/base");
  const auto folder = [&](std::string realm, std::string user) {
    return workspaces.folder_of({.realm = std::move(realm), .user = std::move(user), .agent = {}});
  };
  EXPECT_EQ(folder("default", "ann"), "/base/ann");
  EXPECT_EQ(folder("default", ".."), "/base/%2E.");
  EXPECT_EQ(folder("default", "a/../b"), "/base/a%2F..%2Fb");
  EXPECT_EQ(folder("acme", "ann"), "/base/acme+ann");
  EXPECT_NE(folder("default", "acme+ann"), folder("acme", "ann"));
  EXPECT_NE(folder("default", "a%2Fb"), folder("default", "a/b"));
  EXPECT_NE(folder("Default", "ann"), folder("default", "ann"));
}

TEST_F(FileTools, WritesWithParentsAndAsks) {
  EXPECT_EQ(text("write_file", R"({"path": "new/dir/a.txt", "content": "hé"})"),
            "Wrote 3 bytes to new/dir/a.txt.");
  EXPECT_EQ(content_of(root() + "/new/dir/a.txt"), "hé");
  EXPECT_EQ(text("write_file", R"({"path": "new/dir/a.txt", "content": ""})"),
            "Wrote 0 bytes to new/dir/a.txt.");
  EXPECT_EQ(content_of(root() + "/new/dir/a.txt"), "");
  EXPECT_TRUE(call("write_file", R"({"path": "new/dir", "content": "x"})").is_error);
  EXPECT_TRUE(call("write_file", fmt::format(R"({{"path": "big", "content": "{}"}})",
                                             std::string(kMaxFileWriteBytes + 1, 'x')))
                  .is_error);
  EXPECT_FALSE(fs::exists(root() + "/big"));
  const PreparedCall prepared = runtime::block_on(
      loop, runner.prepare({.permissions = {{"*"}}},
                           {.id = "1", .name = "write_file", .arguments = R"({"path": "a", "content": "b"})"},
                           nullptr, {}));
  EXPECT_EQ(prepared.decision, PreparedCall::Decision::kAsk);
}

TEST_F(FileTools, FilesThatSteerTheAgentAreNotWritten) {
  put("SOUL.md", "mine");
  fs::create_symlink("SOUL.md", root() + "/link");
  put("sub/x", "");
  for (const char* path : {"SOUL.md", "soul.MD", "./SOUL.md", "sub/../SOUL.md", "link"}) {
    EXPECT_TRUE(call("write_file", fmt::format(R"({{"path": "{}", "content": "obey"}})", path)).is_error)
        << path;
  }
  EXPECT_EQ(content_of(root() + "/SOUL.md"), "mine");
  EXPECT_FALSE(call("write_file", R"({"path": "sub/SOUL.md", "content": "x"})").is_error);
}

TEST_F(FileTools, ListsDirectoriesFirst) {
  EXPECT_EQ(text("list_dir", ""), "[the workspace is empty]");
  put("b.txt", "12345");
  put("a/c/deep.txt", "x");
  put("node_modules/lib.js", "x");
  put("big", std::string(2048, 'x'));
  fs::create_symlink("b.txt", root() + "/link");
  EXPECT_EQ(text("list_dir", "{}"), "a/\nnode_modules/\nb.txt (5 bytes)\nbig (2.0 KB)\nlink@");
  EXPECT_EQ(text("list_dir", R"({"recursive": true})"),
            "a/\na/c/\na/c/deep.txt (1 bytes)\nnode_modules/\nb.txt (5 bytes)\nbig (2.0 KB)\nlink@");
  EXPECT_EQ(text("list_dir", R"({"recursive": true, "max_depth": 2})"),
            "a/\na/c/\nnode_modules/\nb.txt (5 bytes)\nbig (2.0 KB)\nlink@");
  EXPECT_EQ(text("list_dir", R"({"path": "a", "recursive": true, "max_depth": 99})"),
            "c/\nc/deep.txt (1 bytes)");
  EXPECT_TRUE(call("list_dir", R"({"path": "b.txt"})").is_error);
  std::string nested = root() + "/nested";
  for (int i = 0; i < kMaxDirDepth + 3; ++i) nested += "/d";
  fs::create_directories(nested);
  const std::string tree = text("list_dir", R"({"path": "nested", "recursive": true, "max_depth": 99})");
  EXPECT_EQ(std::count(tree.begin(), tree.end(), 'd'), kMaxDirDepth * (kMaxDirDepth + 1) / 2) << tree;
}

TEST_F(FileTools, EntriesAreLimitedAlsoAcrossDirectories) {
  for (int i = 0; i < 30; ++i) {
    for (int j = 0; j < 40; ++j) put(fmt::format("d{}/f{}", i, j), "");
  }
  const std::string listing = call("list_dir", R"({"recursive": true})").text;
  EXPECT_EQ(std::count(listing.begin(), listing.end(), '\n'),
            static_cast<std::ptrdiff_t>(kMaxDirEntries) + 2);
  EXPECT_TRUE(listing.contains("only the first 1000 entries"));
}

TEST_F(FileTools, NamesCannotBreakTheLines) {
  put("a\nb\x01", "");
  EXPECT_EQ(text("list_dir", ""), "a?b? (0 bytes)");
}

TEST_F(FileTools, StopEndsTheWork) {
  put("a.txt", "one");
  std::stop_source stop;
  stop.request_stop();
  const ToolPtr tool = registry.find(scope, "read_file");
  const Result<ToolResult> result = runtime::block_on(
      loop, tool->call({.scope = scope, .stop = stop.get_token()}, json::Value::object({{"path", "a.txt"}})));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kCancelled);
  EXPECT_EQ(
      runtime::block_on(loop, registry.find(scope, "list_dir")
                                  ->call({.scope = scope, .stop = stop.get_token()}, json::Value::object()))
          .error()
          .code,
      Code::kCancelled);
}

}  // namespace
}  // namespace chela::tools
