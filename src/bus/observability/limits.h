#pragma once

#include <chrono>
#include <cstddef>

namespace chela::bus::observability {

inline constexpr size_t kMaxItemBytes =
    16 * 1024;  // one span, log or measured point as JSON; larger ones are dropped
inline constexpr size_t kMaxStoredBytes = 32 * 1024 * 1024;  // of each: spans, logs, points
inline constexpr size_t kMaxAttributes = 1024;               // of one of them; further ones are left out
inline constexpr size_t kMaxLatest = 256;                    // metrics of one worker whose last value is kept
inline constexpr size_t kMaxFrameItems = 4096;               // spans, logs or points taken from one frame
inline constexpr size_t kMaxListed = 1000;                   // rows of one answer
inline constexpr size_t kMaxWantedAttributes = 32;           // that one query asks for; more are refused
inline constexpr size_t kMaxWantedBytes = 1024;              // of each text in it
inline constexpr size_t kMaxOpenSpans = 65536;               // calls under way that are watched
inline constexpr size_t kMaxCountedTenants = 256;            // whose calls are counted apart
inline constexpr size_t kMaxCountedFunctions = 1024;         // of one tenant; further ones count as "other"
inline constexpr size_t kMaxDurations = 1024;                // of one tenant, newest ones
inline constexpr size_t kMaxLogsToTell = 256;                // to triggers, within kTellDelay; more are lost
inline constexpr auto kTellDelay =
    std::chrono::milliseconds(100);              // a trigger that logs cannot run faster than this
inline constexpr size_t kMaxTracesToTell = 256;  // to one trigger, within kTellDelay; more are lost
inline constexpr size_t kMaxQuietTraces = 1024;  // of triggers' own calls, the newest
inline constexpr size_t kMaxSamplingRules = 256;
inline constexpr size_t kMaxRolledSeries = 256;  // names of all tenants that are rolled up
inline constexpr size_t kKeptRollups = 168;      // of one name and level: a week by the hour
inline constexpr size_t kMaxAggregates = 4096;   // intervals in one answer
inline constexpr size_t kMaxAlerts = 256;
inline constexpr auto kAlertPeriod = std::chrono::seconds(10);
inline constexpr int kMaxAlertWindow = 3600;  // seconds
inline constexpr auto kWebhookTime = std::chrono::seconds(10);
inline constexpr size_t kMaxWebhookAnswer = 64 * 1024;

}  // namespace chela::bus::observability
