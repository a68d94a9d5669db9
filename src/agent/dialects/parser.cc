#include "agent/dialects/parser.h"

#include <utility>

#include "agent/dialects/limits.h"

namespace chela::agent::dialects {

Parser::Parser(ToolSet tools, Final final, Unread unread)
    : tools_(std::move(tools)),
      out_(final, unread),
      reader_(tools_, in_, out_, unread),
      script_(reader_.run()) {
  script_.start();
}

Parser::~Parser() = default;

std::string Parser::feed(std::string_view piece) {
  for (; !piece.empty(); piece.remove_prefix(std::min(piece.size(), kMaxPieceBytes)))
    in_.feed(piece.substr(0, kMaxPieceBytes));
  return out_.take();
}

Parser::Result Parser::finish(Ending ending) {
  reader_.ends_as(ending);
  in_.end();
  out_.end();
  std::string rest = out_.take();
  const Refused refused = reader_.refused();
  return {.rest = std::move(rest),
          .text = std::move(out_.all()),
          .calls = std::move(reader_.calls()),
          .refused = refused};
}

Parser::Result parse(std::string_view text, ToolSet tools) {
  Parser parser(std::move(tools));
  parser.feed(text);
  return parser.finish(Ending::kComplete);
}

}  // namespace chela::agent::dialects
