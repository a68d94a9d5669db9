#pragma once

#include <memory>
#include <string>

#include "bus/bridge/remote.h"
#include "bus/config_reader.h"
#include "bus/module.h"
#include "net/url.h"

namespace chela::bus::bridge {

// Where another engine is and how this one shows itself there.
struct Peer {
  net::Url url;
  std::string token = {};    // "" = none
  std::string ca_file = {};  // whom to trust at a wss:// address; "" = whom the system trusts
};

// The address under `key`, `token` and `ca_file`; the caller finishes the reader.
Peer read_peer(ConfigReader& reader, std::string_view key);

// A way to it over the network.
std::unique_ptr<Remote> make_remote(ModuleParts& parts, const Peer& peer, Remote::Options options);

}  // namespace chela::bus::bridge
