// Writing: a field is written under the name by which messages_read.cpp asks for it.
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cmath>

#include "peer/base/bytes.hpp"
#include "project_server/control/message_names.hpp"
#include "project_server/control/messages.hpp"

namespace dedloc::control {
namespace {

class Text {
  public:
    Text() : writer_(buffer_) {}

    Text& begin(const char* name = nullptr) {
        if (name != nullptr) writer_.Key(name);
        writer_.StartObject();
        return *this;
    }
    Text& end() {
        writer_.EndObject();
        return *this;
    }
    Text& operator()(const char* name, std::uint64_t value) {
        writer_.Key(name);
        writer_.Uint64(value);
        return *this;
    }
    /// A reader refuses what is not finite: a diverged loss is told as the greatest number.
    Text& operator()(const char* name, double value) {
        writer_.Key(name);
        const double limit = kMaxNumber;
        writer_.Double(std::isnan(value) ? limit : std::clamp(value, -limit, limit));
        return *this;
    }
    Text& operator()(const char* name, bool value) {
        writer_.Key(name);
        writer_.Bool(value);
        return *this;
    }
    Text& operator()(const char* name, const std::string& value) {
        writer_.Key(name);
        writer_.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
        return *this;
    }
    Text& operator()(const char* name, const char* value) {
        return (*this)(name, std::string{value});
    }
    template <class Range, class Write>
    Text& list(const char* name, const Range& range, const Write& write) {
        writer_.Key(name);
        writer_.StartArray();
        for (const auto& element : range) write(element);
        writer_.EndArray();
        return *this;
    }
    void number(std::uint64_t value) { writer_.Uint64(value); }
    void string(const std::string& value) { writer_.String(value.c_str()); }
    std::string take() const { return {buffer_.GetString(), buffer_.GetSize()}; }

  private:
    rapidjson::StringBuffer buffer_;
    rapidjson::Writer<rapidjson::StringBuffer> writer_;
};

/// One line that the reader accepts: printable ASCII, not empty, and not too long.
std::string one_line(std::string text) {
    text.resize(std::min(text.size(), kMaxTextBytes));
    for (char& c : text) {
        const auto code = static_cast<unsigned char>(c);
        if (code < 0x20 || code > 0x7E) c = '?';
    }
    return text.empty() ? "-" : text;
}

void add(Text& out, const MemberView& member) {
    out("key", member.key.hex())("role", member.role)("user", member.user)("has_state",
                                                                           member.has_state);
}

void add(Text& out, const StepView& step) {
    out("step", step.step)("samples", step.samples)("loss", step.loss)("seconds", step.seconds)(
        "members", step.members);
    if (!step.digest) return;
    out("digest", step.digest->hex())("reported", step.reported)("equal", step.equal);
}

void add(Text& out, const ProgressView& progress) {
    out("step", progress.step)("samples", progress.samples)(
        "samples_per_second", progress.samples_per_second)("trainers", progress.trainers)(
        "coordinator", progress.coordinator.hex());
}

struct AddHappening {
    Text& out;
    void operator()(const StepCommitted& what) const { add(out, what.step); }
    void operator()(const StepSettled& what) const {
        out("step", what.step)("digest", what.digest.hex())("reported", what.reported)("equal",
                                                                                       what.equal);
    }
    void operator()(const StepsVoid& what) const { out("step", what.after); }
    void operator()(const MemberJoined& what) const { add(out, what.member); }
    void operator()(const MemberLeft& what) const { out("key", what.key.hex()); }
    void operator()(const Progress& what) const { add(out, what.progress); }
    void operator()(const StateChanged& what) const { out("state", name_of(what.state)); }
    void operator()(const Suspicion& what) const {
        out("key", what.key.hex())("what", one_line(what.what))("step", what.step);
        out("text", one_line(what.text));
    }
};

void add(Text& out, const Snapshot& snapshot) {
    out("session", snapshot.session)("sequence", snapshot.sequence)("run", snapshot.run)(
        "steps", snapshot.steps)("target_batch", snapshot.target_batch)("state",
                                                                        name_of(snapshot.state));
    out.begin("progress");
    add(out, snapshot.progress);
    out.end();
    const auto add_object = [&out](const auto& view) {
        out.begin();
        add(out, view);
        out.end();
    };
    out.list("recent", snapshot.recent, add_object).list("members", snapshot.members, add_object);
}

}  // namespace

const char* name_of(RunState state) {
    return kStateNames.at(static_cast<std::size_t>(state));
}

std::string write(const Event& event) {
    Text out;
    out.begin()("version", kVersion)("session", event.session)("sequence", event.sequence)(
        "time", event.time)("event", kEventNames.at(event.what.index()));
    std::visit(AddHappening{out}, event.what);
    return out.end().take();
}

std::string write(const Request& request) {
    Text out;
    out.begin()("version", kVersion)("command",
                                     kCommandNames.at(static_cast<std::size_t>(request.command)));
    const Revocation& named = request.revocation;
    if (request.command == Command::kRevoke || request.command == Command::kForgive) {
        const auto number = [&out](std::uint64_t id) { out.number(id); };
        out.list("users", named.users, number).list("hosts", named.hosts, number);
        const auto key = [&out](const PeerKey& peer) { out.string(peer.hex()); };
        out.list("keys", named.keys, key).list("voters", named.voters, key);
    }
    if (request.pause) {
        out.begin("pause")("count", request.pause->count)("signature",
                                                          to_hex(request.pause->signature))
            .end();
    }
    return out.end().take();
}

std::string write(const Snapshot& snapshot) {
    Text out;
    out.begin()("version", kVersion);
    add(out, snapshot);
    return out.end().take();
}

std::string write(const Reply& reply) {
    Text out;
    out.begin()("version", kVersion)("ok", reply.is_done)("note", one_line(reply.note));
    if (reply.step) out("step", *reply.step);
    if (reply.snapshot) {
        out.begin("snapshot");
        add(out, *reply.snapshot);
        out.end();
    }
    return out.end().take();
}

}  // namespace dedloc::control
