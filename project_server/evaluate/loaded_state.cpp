// A checkpoint is read once: each piece enters the digest, and what of it belongs to the parameters
// is copied out, so the optimizer's moments are never held. An exception of this file's own ends
// the reading when it is interrupted. A file of plain numbers is recognised by its size: parameters
// alone, or a whole state. judge() verifies the whole ledger before it looks at the state's digest,
// so its answer rests on certificates, not on the database.
#include "project_server/evaluate/loaded_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "peer/base/error.hpp"
#include "peer/platform/durable_file.hpp"
#include "peer/state/run_state.hpp"
#include "project_server/backbone/ledger_proof.hpp"

namespace dedloc::evaluate {
namespace {

namespace fs = std::filesystem;

/// Ends the reading of a file.
struct Interrupted {};

std::span<std::byte> bytes_of_floats(AlignedFloats& floats) {
    return std::as_writable_bytes(std::span{floats});
}

}  // namespace

std::optional<LoadedState> load_checkpoint(const backbone::CheckpointFile& file,
                                           const fs::path& path, const formats::RunFile& run,
                                           const IsInterrupted& is_interrupted) {
    const formats::CheckpointHead& head = file.head();
    const std::uint64_t elements = formats::element_count(run);
    if (head.elements != elements) {
        throw InputError(fmt::format("{} is not a state of this run: it has {} elements, not {}",
                                     path.string(), head.elements, elements));
    }
    LoadedState state{.parameters = AlignedFloats(static_cast<std::size_t>(elements)),
                      .step = head.step,
                      .digest = head.digest};
    const auto parameters = bytes_of_floats(state.parameters);
    try {
        const Digest digest = file.read_all([&](std::uint64_t offset, auto bytes) {
            if (is_interrupted && is_interrupted()) throw Interrupted{};
            if (offset >= parameters.size()) return;
            const auto begin = static_cast<std::size_t>(offset);
            const std::size_t count = std::min(bytes.size(), parameters.size() - begin);
            std::memcpy(parameters.data() + begin, bytes.data(), count);
        });
        if (digest == head.digest) return state;
    } catch (const Interrupted&) {
        return std::nullopt;
    }
    throw InputError(
        fmt::format("{} is damaged: its bytes are not the state with the digest {} "
                    "that it names",
                    path.string(), head.digest.brief()));
}

LoadedState load_numbers(const fs::path& path, const formats::RunFile& run) {
    const platform::DurableFile file{path, platform::DurableFile::Mode::kRead};
    LoadedState state;
    state.parameters.resize(static_cast<std::size_t>(formats::element_count(run)));
    const auto parameters = bytes_of_floats(state.parameters);
    const std::uint64_t size = file.size();
    const std::uint64_t whole = parameters.size() * formats::state_vectors(run.optimizer.name);
    if (size != parameters.size() && size != whole) {
        throw InputError(
            fmt::format("{} has {} bytes, but the parameters of the run have {} and "
                        "its whole states {}",
                        path.string(), size, parameters.size(), whole));
    }
    if (file.read_at(0, parameters) < parameters.size()) {
        throw IoError(fmt::format("{} became shorter while read", path.string()));
    }
    return state;
}

LoadedState load_initial(const formats::RunFile& run) {
    if (run.initial_state) {
        throw InputError(
            fmt::format("run {} starts from an imported model: name its checkpoint "
                        "of step 0",
                        run.name));
    }
    state::ModelState whole{state::tensor_ranges(run), state::optimizer_settings(run)};
    whole.initialise(state::initial_parameters(run));
    return {.parameters = {whole.parameters().begin(), whole.parameters().end()},
            .step = whole.step(),
            .digest = whole.digest()};
}

Proof judge(const LoadedState& state, const fs::path& ledger, const formats::RunFile& run) {
    if (!fs::is_regular_file(ledger)) {
        throw InputError(fmt::format("there is no ledger {}", ledger.string()));
    }
    const backbone::LedgerProof proof{ledger, run};
    if (!state.step || !state.digest) {
        return {.clause = "not proven: the file says neither its step nor its digest"};
    }
    switch (proof.judge({.step = *state.step, .digest = *state.digest})) {
        case backbone::Standing::kProven:
            return {.is_proven = true, .clause = "proven by the ledger"};
        case backbone::Standing::kLast:
            return {.clause = "not proven yet: the ledger ends with the decision that leads to it"};
        case backbone::Standing::kUnproven:
            break;
    }
    const std::uint64_t end = proof.head().step.value();
    return {.clause = state.step->value() > end
                          ? fmt::format("not proven: the ledger ends at step {}", end)
                          : "not proven: the ledger has another state at this step"};
}

}  // namespace dedloc::evaluate
