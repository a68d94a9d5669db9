#include "gateway/front_page.h"

#include <fmt/format.h>

namespace chela::gateway {

std::string front_page(std::string_view version) {
  return fmt::format(R"(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Chela</title>
<style>body {{ font: 1rem/1.6 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem }} code {{ background: #8882; padding: .1em .3em }}</style>
<h1>Chela {}</h1>
<p>This is the gateway of a Chela agent engine. It runs.</p>
<ul>
<li><code>chela run</code> in a terminal opens a chat with the agent.</li>
<li>OpenAI clients: base URL <code>/v1</code>, model <code>chela</code>, the content of <code>gateway.token</code> as the API key.</li>
<li><a href="openapi.json"><code>/openapi.json</code></a> describes all operations; it wants the token.</li>
</ul>
</html>
)",
                     version);
}

}  // namespace chela::gateway
