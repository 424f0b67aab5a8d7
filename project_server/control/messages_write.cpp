// Writing: a field is written under the name by which messages_read.cpp asks for it.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "peer/base/bytes.hpp"
#include "project_server/control/message_names.hpp"
#include "project_server/control/messages.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::control {
namespace {

/// A reader refuses what is not finite: a diverged loss is told as the greatest number.
double finite(double value) {
    const double limit = kMaxNumber;
    return std::isnan(value) ? limit : std::clamp(value, -limit, limit);
}

/// One line that the reader accepts: printable ASCII, not empty, and not too long.
std::string one_line(std::string text) {
    text.resize(std::min(text.size(), kMaxTextBytes));
    for (char& c : text) {
        const auto code = static_cast<unsigned char>(c);
        if (code < 0x20 || code > 0x7E) c = '?';
    }
    return text.empty() ? "-" : text;
}

void add(json::Value& out, const MemberView& member) {
    out.set("key", member.key.hex())
        .set("role", member.role)
        .set("user", member.user)
        .set("has_state", member.has_state);
}

void add(json::Value& out, const StepView& step) {
    out.set("step", step.step)
        .set("samples", step.samples)
        .set("loss", finite(step.loss))
        .set("seconds", finite(step.seconds))
        .set("members", step.members);
    if (!step.digest) return;
    out.set("digest", step.digest->hex()).set("reported", step.reported).set("equal", step.equal);
}

void add(json::Value& out, const ProgressView& progress) {
    out.set("step", progress.step)
        .set("samples", progress.samples)
        .set("samples_per_second", finite(progress.samples_per_second))
        .set("trainers", progress.trainers)
        .set("coordinator", progress.coordinator.hex());
}

struct AddHappening {
    json::Value& out;
    void operator()(const StepCommitted& what) const { add(out, what.step); }
    void operator()(const StepSettled& what) const {
        out.set("step", what.step)
            .set("digest", what.digest.hex())
            .set("reported", what.reported)
            .set("equal", what.equal);
    }
    void operator()(const StepsVoid& what) const { out.set("step", what.after); }
    void operator()(const MemberJoined& what) const { add(out, what.member); }
    void operator()(const MemberLeft& what) const { out.set("key", what.key.hex()); }
    void operator()(const Progress& what) const { add(out, what.progress); }
    void operator()(const StateChanged& what) const { out.set("state", name_of(what.state)); }
    void operator()(const Suspicion& what) const {
        out.set("key", what.key.hex())
            .set("what", one_line(what.what))
            .set("step", what.step)
            .set("text", one_line(what.text));
    }
};

template <class View>
json::Value::List list_of(const std::vector<View>& views) {
    json::Value::List list;
    for (const View& view : views) add(list.emplace_back(), view);
    return list;
}

void add(json::Value& out, const Snapshot& snapshot) {
    json::Value progress;
    add(progress, snapshot.progress);
    out.set("session", snapshot.session)
        .set("sequence", snapshot.sequence)
        .set("run", snapshot.run)
        .set("steps", snapshot.steps)
        .set("target_batch", snapshot.target_batch)
        .set("state", name_of(snapshot.state))
        .set("progress", std::move(progress))
        .set("recent", list_of(snapshot.recent))
        .set("members", list_of(snapshot.members));
}

json::Value::List hex_of(const std::vector<PeerKey>& keys) {
    json::Value::List list;
    for (const PeerKey& key : keys) list.emplace_back(key.hex());
    return list;
}

/// An object that begins as every message does.
json::Value message() {
    json::Value out;
    out.set("version", kVersion);
    return out;
}

}  // namespace

const char* name_of(RunState state) {
    return kStateNames.at(static_cast<std::size_t>(state));
}

std::string write(const Event& event) {
    json::Value out = message();
    out.set("session", event.session)
        .set("sequence", event.sequence)
        .set("time", finite(event.time))
        .set("event", kEventNames.at(event.what.index()));
    std::visit(AddHappening{out}, event.what);
    return json::write(out);
}

std::string write(const Request& request) {
    json::Value out = message();
    out.set("command", kCommandNames.at(static_cast<std::size_t>(request.command)));
    const Revocation& named = request.revocation;
    if (request.command == Command::kRevoke || request.command == Command::kForgive) {
        out.set("users", json::Value::List(named.users.begin(), named.users.end()))
            .set("hosts", json::Value::List(named.hosts.begin(), named.hosts.end()))
            .set("keys", hex_of(named.keys))
            .set("voters", hex_of(named.voters));
    }
    if (request.command == Command::kMix) {
        const auto& weights = request.mix.weights;
        out.set("weights", json::Value::List(weights.begin(), weights.end()));
        if (request.mix.from) out.set("from", *request.mix.from);
    }
    if (request.command == Command::kAddSource) out.set("source", request.source.hex());
    if (request.pause) {
        json::Value pause;
        pause.set("count", request.pause->count).set("signature", to_hex(request.pause->signature));
        out.set("pause", std::move(pause));
    }
    return json::write(out);
}

std::string write(const Snapshot& snapshot) {
    json::Value out = message();
    add(out, snapshot);
    return json::write(out);
}

std::string write(const Reply& reply) {
    json::Value out = message();
    out.set("ok", reply.is_done).set("note", one_line(reply.note));
    if (reply.step) out.set("step", *reply.step);
    if (reply.snapshot) {
        json::Value snapshot;
        add(snapshot, *reply.snapshot);
        out.set("snapshot", std::move(snapshot));
    }
    return json::write(out);
}

}  // namespace dedloc::control
