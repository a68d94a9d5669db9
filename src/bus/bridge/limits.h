#pragma once

#include <chrono>
#include <cstddef>

namespace chela::bus::bridge {

inline constexpr size_t kMaxRemoteCalls =
    4096;  // to the other engine, unanswered or waiting for the connection
inline constexpr size_t kMaxServedCalls = 1024;  // of the other engine, that run here
inline constexpr size_t kMaxPassedOn =
    1024;  // functions that one configuration exposes, and that it forwards
inline constexpr size_t kMaxKeptTriggers = 1024;  // kept at the other engine for workers that have gone
inline constexpr std::chrono::milliseconds kRemoteTimeout =
    std::chrono::seconds(30);  // of a call, unless told
inline constexpr std::chrono::milliseconds kMaxRemoteTimeout = std::chrono::hours(1);
inline constexpr std::chrono::milliseconds kFirstRetry{250};  // to connect again; doubles up to
inline constexpr std::chrono::milliseconds kLastRetry = std::chrono::seconds(30);

}  // namespace chela::bus::bridge
