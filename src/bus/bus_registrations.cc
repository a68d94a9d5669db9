#include "base/ids.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "bus/bus.h"

namespace chela::bus {
namespace {

constexpr std::string_view kRegisterPermission = "bus:register";
constexpr std::uint16_t kNormal = 1000;

std::string bytes_of(const Envelope& frame, std::string_view key) {
  return std::string(frame.raw(key).value_or(""));
}

std::string description_of(Envelope& frame) {
  return std::string(frame.text("description", kMaxDescriptionBytes).value_or(""));
}

}  // namespace

Result<> Bus::register_function(const WorkerPtr& worker, Envelope& frame) {
  const Result<std::string_view> id = frame.id("id");
  if (!id) return fail(id.error());
  const auto refuse = [&](const Error& why) -> Result<> {
    std::string rejected;
    write::registration_rejected(rejected, *id, "engine");
    send(*worker, rejected);
    return fail(
        Error{.code = why.code, .message = fmt::format("{} was not registered: {}", *id, why.message)});
  };
  if (!worker->rights.principal.allows(kRegisterPermission))
    return refuse(
        {.code = Code::kPermissionDenied,
         .message = fmt::format("registering functions needs the permission {}", kRegisterPermission)});
  FunctionSpec spec{.id = std::string(*id),
                    .description = description_of(frame),
                    .request_format = bytes_of(frame, "request_format"),
                    .response_format = bytes_of(frame, "response_format"),
                    .metadata = bytes_of(frame, "metadata")};
  if (worker->session) {
    if (worker->session->register_functions == Session::May::kNo)
      return refuse({.code = Code::kPermissionDenied, .message = "this session registers no functions"});
  }
  if (const std::optional<std::string_view> invocation = frame.raw("invocation")) {
    if (Result<> made = make_outside(*worker, spec, *invocation); !made) return refuse(made.error());
  }
  if (worker->session) {
    if (!worker->session->deciders.on_function.empty()) {
      start_deciding(worker, decide_function(worker, std::move(spec)));
      return {};
    }
  }
  if (const Result<> added = add_function(worker, std::move(spec)); !added) return refuse(added.error());
  return {};
}

Result<> Bus::make_outside(const Worker& worker, FunctionSpec& spec, std::string_view invocation) const {
  if (outside_ == nullptr)
    return fail(Code::kUnsupported, "this engine calls no functions over HTTP (module iii-http-functions)");
  const Result<json::Value> how = json::parse(invocation);
  if (!how) return fail(how.error());
  Result<LocalFunction> made = outside_->make(spec, *how, worker.rights);
  if (!made) return fail(made.error());
  spec.outside = std::make_shared<const LocalFunction>(std::move(*made));
  return {};
}

// Under the id that the registry knows it by: a session may have a prefix, and a deciding function another name for it.
Result<> Bus::add_function(const WorkerPtr& worker, FunctionSpec spec) {
  if (worker->session) {
    const std::string own = spec.own_id.empty() ? spec.id : spec.own_id;
    spec.id = worker->session->prefixed(spec.id);
    spec.own_id = spec.id == own ? "" : own;
    if (spec.id.size() > kMaxIdBytes)
      return fail(Code::kTooLarge, "with its prefix the id has more than {} bytes", kMaxIdBytes);
  }
  if (Result<> added = functions_.add(worker, std::move(spec)); !added) return added;
  functions_changed();
  return {};
}

Result<> Bus::unregister_function(Worker& worker, Envelope& frame) {
  const Result<std::string_view> id = frame.id("id");
  if (!id) return fail(id.error());
  const auto renamed = worker.renamed.find(*id);
  const std::string known(renamed == worker.renamed.end() ? *id : std::string_view(renamed->second));
  if (functions_.remove(worker, known)) functions_changed();
  return {};
}

Result<> Bus::register_trigger_type(const WorkerPtr& worker, Envelope& frame) {
  const Result<std::string_view> id = frame.id("id");
  if (!id) return fail(id.error());
  if (!worker->rights.principal.allows(kRegisterPermission))
    return fail(Code::kPermissionDenied, "registering trigger types needs the permission {}",
                kRegisterPermission);
  TriggerType type{.id = std::string(*id),
                   .description = description_of(frame),
                   .trigger_format = bytes_of(frame, "trigger_request_format"),
                   .call_format = bytes_of(frame, "call_request_format")};
  if (worker->session) {
    if (worker->session->register_trigger_types == Session::May::kNo)
      return fail(Code::kPermissionDenied, "this session registers no trigger types");
    if (!worker->session->deciders.on_trigger_type.empty()) {
      start_deciding(worker, decide_trigger_type(worker, std::move(type)));
      return {};
    }
  }
  return add_worker_type(worker, std::move(type));
}

Result<> Bus::add_worker_type(const WorkerPtr& worker, TriggerType type) {
  const std::string id = type.id;
  if (Result<> added = triggers_.add_type(worker, std::move(type)); !added) return added;
  offer_waiting(id);
  return {};
}

Result<> Bus::unregister_trigger_type(const WorkerPtr& worker, Envelope& frame) {
  const Result<std::string_view> id = frame.id("id");
  if (!id) return fail(id.error());
  if (triggers_.remove_type(*worker, *id)) release(*id, worker);
  return {};
}

Result<> Bus::register_trigger(const WorkerPtr& worker, Envelope& frame) {
  const Result<std::string_view> id = frame.id("id");
  const Result<std::string_view> type = frame.id("trigger_type");
  const Result<std::string_view> function_id = frame.id("function_id");
  for (const Result<std::string_view>* each : {&id, &type, &function_id}) {
    if (!*each) return fail(each->error());
  }
  Trigger trigger{.id = std::string(*id),
                  .type = std::string(*type),
                  .function_id = std::string(*function_id),
                  .config = bytes_of(frame, "config"),
                  .metadata = bytes_of(frame, "metadata"),
                  .owner = worker};
  if (worker->session && !worker->session->deciders.on_trigger.empty()) {
    start_deciding(worker, decide_trigger(std::move(trigger)));
  } else {
    add_trigger(std::move(trigger));
  }
  return {};
}

// All functions that a trigger of the worker would have called; what it provides itself it could call anyway.
Result<> Bus::lets_fire(const Worker& worker, const Trigger& trigger) const {
  if (!worker.session) return {};
  std::vector<std::string> called{trigger.function_id};
  const Result<json::Value> config = json::parse(trigger.config.empty() ? "{}" : trigger.config);
  if (!config) return fail(config.error());
  for (const std::string_view key : {"condition_function_id", "_condition_path"})
    called.push_back(config->string_or(key));
  const json::Value* middleware = config->find("middleware_function_ids");
  for (size_t i = 0; middleware && middleware->as_array() && i < middleware->as_array()->size(); ++i) {
    const std::string* each = (*middleware->as_array())[i].as_string();
    called.push_back(each == nullptr ? "" : *each);
  }
  for (const std::string& each : called) {
    if (each.empty() || worker.functions.contains(each)) continue;
    if (Result<> may = lets_call(worker, each); !may) return may;
  }
  return {};
}

// A refusal goes to the owner.
void Bus::add_trigger(Trigger trigger) {
  const WorkerPtr worker = trigger.owner;
  if (worker->session) {
    const auto renamed = worker->renamed.find(trigger.function_id);
    trigger.function_id =
        renamed == worker->renamed.end() ? worker->session->prefixed(trigger.function_id) : renamed->second;
  }
  const auto allowed = [&]() -> Result<> {
    if (!worker->rights.principal.allows(kRegisterPermission))
      return fail(Code::kPermissionDenied, "registering triggers needs the permission {}",
                  kRegisterPermission);
    if (trigger.function_id.starts_with("engine::"))
      return fail(Code::kInvalidArgument, "{} is the engine's own; a trigger calls no such function",
                  trigger.function_id);
    if (worker->session && worker->session->trigger_types &&
        !worker->session->trigger_types->contains(trigger.type))
      return fail(Code::kPermissionDenied, "this session registers no triggers of the type {}", trigger.type);
    if (Result<> may = lets_fire(*worker, trigger); !may) return may;
    if (const TriggerType* own = triggers_.provider(trigger.type, worker->view);
        own != nullptr && !own->worker && !worker->rights.principal.allows(kCallPermission))
      return fail(Code::kPermissionDenied,
                  "a trigger of {} calls in your name, which needs the permission {}", trigger.type,
                  kCallPermission);
    return {};
  };
  if (const Result<> may = allowed(); !may) return tell_refusal(trigger, may.error().message);
  // A worker whose connection broke is back before the engine has noticed: the newer connection takes over what the older one had.
  if (Trigger* before = triggers_.find(worker->view.tenant, trigger.id);
      before != nullptr && before->owner->number <= worker->number)
    end_trigger(*before);
  const Trigger copy = trigger;
  if (const Result<Trigger*> added = triggers_.add(std::move(trigger)); added) {
    bind_or_tell(**added);
  } else {
    tell_refusal(copy, added.error().message);
  }
}

// One for each user; the newest of all owners, so that no connection takes its triggers over.
const WorkerPtr& Bus::stand_in(const Rights& rights) {
  const Viewer view = viewer_of(rights.principal);
  WorkerPtr& owner = stand_ins_[view.tenant];
  if (owner) return owner;
  owner = std::make_shared<Worker>();
  owner->id = "engine";
  owner->info.name = "engine";
  owner->view = {.tenant = view.tenant};
  owner->rights.principal.realm = rights.principal.realm;
  owner->rights.principal.user = rights.principal.user;
  owner->link = &no_link_;
  owner->number = std::numeric_limits<std::uint64_t>::max();
  return owner;
}

Result<> Bus::add_standing(StandingTrigger standing) {
  const op::Principal& principal = standing.rights.principal;
  for (const std::string_view needed : {kRegisterPermission, kCallPermission}) {
    if (!principal.allows(needed))
      return fail(Code::kPermissionDenied, "a standing trigger needs the permission {}", needed);
  }
  for (const std::string* each : {&standing.id, &standing.type, &standing.function_id}) {
    if (!is_foreign_id(*each))
      return fail(Code::kInvalidArgument,
                  "a trigger needs trigger_type and function_id, texts of 1 to {} bytes", kMaxIdBytes);
  }
  if (standing.function_id.starts_with("engine::"))
    return fail(Code::kInvalidArgument, "{} is the engine's own; a trigger calls no such function",
                standing.function_id);
  const WorkerPtr owner = stand_in(standing.rights);
  Result<Trigger*> added = triggers_.add({.id = std::move(standing.id),
                                          .type = std::move(standing.type),
                                          .function_id = std::move(standing.function_id),
                                          .config = std::move(standing.config),
                                          .metadata = std::move(standing.metadata),
                                          .owner = owner,
                                          .rights = std::move(standing.rights)});
  if (!added) return fail(added.error());
  Result<> bound = bind(**added);
  if (!bound) end_trigger(**added);
  return bound;
}

bool Bus::has_standing(std::string_view tenant, std::string_view id) {
  const auto owner = stand_ins_.find(tenant);
  return owner != stand_ins_.end() && owner->second->triggers.contains(id);
}

bool Bus::end_standing(std::string_view tenant, std::string_view id) {
  if (!has_standing(tenant, id)) return false;
  end_trigger(*triggers_.find(tenant, id));
  return true;
}

void Bus::tell_refusal(const Trigger& trigger, std::string_view why) {
  std::string refused;
  write::trigger_result(
      refused, {.id = trigger.id, .type = trigger.type, .function_id = trigger.function_id},
      write::error_json({.code = "trigger_registration_failed",
                         .message = std::string(utf8::prefix(why, kMaxErrorMessageBytes))}));
  send(*trigger.owner, refused);
}

void Bus::bind_or_tell(Trigger& trigger) {
  const Result<> bound = bind(trigger);
  if (!bound) {
    tell_refusal(trigger, bound.error().message);
  } else if (trigger.state == Trigger::State::kWaiting) {
    tell_waiting(trigger);
  }
}

// SDKs since 0.22 know that triggers may wait, and take every error for a refusal. Which one it is they say behind their registrations.
void Bus::tell_waiting(const Trigger& trigger) {
  const Worker& owner = *trigger.owner;
  if (!owner.introduced || !owner.older_than(0, 22)) return;
  tell_refusal(trigger,
               fmt::format("nobody provides the trigger type {}; the trigger waits until somebody does",
                           trigger.type));
}

void Bus::tell_waiting(const Worker& owner) {
  for (const std::string& id : owner.triggers) {
    const Trigger* trigger = triggers_.find(owner.view.tenant, id);
    if (trigger != nullptr && trigger->state == Trigger::State::kWaiting) tell_waiting(*trigger);
  }
}

// Gives the trigger to the provider of its type, if there is one. An error is the refusal of a part of the engine; workers refuse later.
Result<> Bus::bind(Trigger& trigger) {
  const TriggerType* type = triggers_.provider(trigger.type, trigger.owner->view);
  trigger.state = type == nullptr ? Trigger::State::kWaiting : Trigger::State::kBound;
  trigger.provider = type == nullptr ? nullptr : type->worker;
  if (type == nullptr) return {};
  if (!trigger.provider) return bind_here(trigger, type->provider);
  std::string offer;
  const std::string id = offered_id(trigger, *trigger.provider);
  write::register_trigger(offer, {.id = id,
                                  .type = trigger.type,
                                  .function_id = trigger.function_id,
                                  .config = trigger.config,
                                  .metadata = trigger.metadata});
  send(*trigger.provider, offer);
  return {};
}

Result<> Bus::bind_here(Trigger& trigger, TriggerProvider* provider) {
  auto bound = std::make_shared<BoundTrigger>();
  bound->key = fmt::format("{}\n{}", trigger.owner->view.tenant, trigger.id);
  bound->id = trigger.id;
  bound->type = trigger.type;
  bound->function_id = trigger.function_id;
  bound->tenant = trigger.owner->view.tenant;
  bound->rights = trigger.rights ? *trigger.rights : trigger.owner->rights;
  bound->owner = trigger.owner;
  bound->ended = trigger.ended.get_token();
  const auto parse = [&]() -> Result<> {
    Result<json::Value> config = json::parse(trigger.config.empty() ? "{}" : trigger.config);
    if (!config) return fail(config.error());
    if (config->as_object() == nullptr)
      return fail(Code::kInvalidArgument, "the configuration of a trigger is an object");
    bound->config = std::move(*config);
    if (trigger.metadata.empty()) return {};
    Result<json::Value> metadata = json::parse(trigger.metadata);
    if (!metadata) return fail(metadata.error());
    bound->metadata = std::move(*metadata);
    return {};
  };
  Result<> done = parse();
  if (done && provider != nullptr) done = provider->bind(bound);
  if (!done) {
    trigger.state = Trigger::State::kRefused;
    return done;
  }
  trigger.bound = std::move(bound);
  trigger.keeper = provider;
  return {};
}

void Bus::offer_waiting(std::string_view type) {
  for (Trigger* trigger : triggers_.select([type](const Trigger& each) {
         return each.type == type && each.state != Trigger::State::kBound;
       })) {
    if (const Result<> bound = bind(*trigger); !bound) tell_refusal(*trigger, bound.error().message);
  }
}

Result<> Bus::add_trigger_type(TriggerType type, TriggerProvider& provider) {
  const std::string id = type.id;
  type.worker = nullptr;
  type.provider = &provider;
  if (Result<> added = triggers_.add_type(std::move(type)); !added) return added;
  offer_waiting(id);
  return {};
}

// The provider has gone or gives the type up: its triggers go to another one, or wait.
void Bus::release(std::string_view type, const WorkerPtr& provider) {
  for (Trigger* trigger : triggers_.select(
           [&](const Trigger& each) { return each.type == type && each.provider == provider; })) {
    if (const Result<> bound = bind(*trigger); !bound) tell_refusal(*trigger, bound.error().message);
  }
}

void Bus::end_trigger(Trigger& trigger) {
  if (trigger.provider && trigger.provider->link != nullptr) {
    std::string gone;
    write::unregister_trigger(gone, offered_id(trigger, *trigger.provider), trigger.type);
    send(*trigger.provider, gone);
  }
  if (const BoundTriggerPtr bound = std::exchange(trigger.bound, nullptr)) {
    trigger.ended.request_stop();
    if (trigger.keeper != nullptr) trigger.keeper->release(*bound);
  }
  triggers_.remove(trigger.owner->view.tenant, std::string(trigger.id));
}

Result<> Bus::unregister_trigger(const WorkerPtr& worker, Envelope& frame) {
  const Result<std::string_view> id = frame.id("id");
  if (!id) return fail(id.error());
  if (Trigger* trigger = triggers_.find(worker->view.tenant, *id);
      trigger != nullptr && trigger->owner == worker)
    end_trigger(*trigger);
  return {};
}

Result<> Bus::trigger_answered(const WorkerPtr& worker, Envelope& frame) {
  const Result<std::string_view> id = frame.id("id");
  if (!id) return fail(id.error());
  Trigger* trigger = triggers_.find_offered(*worker, *id);
  if (trigger == nullptr) return {};
  const std::optional<std::string_view> error = frame.raw("error");
  if (!error) return {};
  trigger->state = Trigger::State::kRefused;
  std::string refused;
  write::trigger_result(
      refused, {.id = trigger->id, .type = trigger->type, .function_id = trigger->function_id}, *error);
  send(*trigger->owner, refused);
  return {};
}

// A worker that has lost its connection is back: the old one ends at once instead of when its silence is noticed.
Result<> Bus::reattach(const WorkerPtr& worker, Envelope& frame) {
  const std::optional<std::string_view> before = frame.text("previous_worker_id", kMaxIdBytes);
  const std::optional<std::string_view> token = frame.text("reattach_token", kMaxIdBytes);
  if (!before || !token) return {};
  const auto found = workers_.find(*before);
  if (found == workers_.end() || found->second == worker) return {};
  const WorkerPtr old = found->second;
  if (!strings::constant_time_equals(*token, old->reattach_token)) return {};
  old->link->close(kNormal, "the worker has a new connection");
  disconnect(old);
  return {};
}

}  // namespace chela::bus
