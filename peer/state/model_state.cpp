// An update is the same bits on every machine: the norm, the clip factor and the optimizer come
// from kernels/, which fix the order of every sum; learning rate and bias corrections come from the
// coordinator as bits (UpdateScalars); constants of elements are rounded to binary32 before use.
// Keep it that way: any libm call or reordered sum here makes peers' digests differ.
//
// The vectors are one allocation, so bytes() needs no copy and a snapshot is one memcpy.
#include "peer/state/model_state.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "kernels/digest.hpp"
#include "kernels/global_norm.hpp"
#include "kernels/lamb.hpp"
#include "kernels/lanes.hpp"
#include "kernels/sgd.hpp"
#include "kernels/unit_rows.hpp"
#include "peer/base/check.hpp"
#include "peer/state/average_tree.hpp"
#include "peer/state/update_arguments.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::state {
namespace {

static_assert(std::endian::native == std::endian::little,
              "a state's bytes are little-endian floats; this machine would need to swap them");

static_assert(wire::kMaxElements <= kernels::kMaxElements && wire::kMaxStateVectors == 3,
              "kernels reduce the largest vector that a run may have");

std::size_t checked_count(const std::vector<TensorRange>& tensors) {
    std::uint64_t end = 0;
    for (const TensorRange& tensor : tensors) {
        DEDLOC_CHECK(tensor.offset == end,
                     "a model's tensors must follow each other and their padding", tensor.offset,
                     end);
        end += tensor.count + tensor.padding;
    }
    DEDLOC_CHECK(end > 0, "a model needs at least one parameter");
    return static_cast<std::size_t>(end);
}

/// BLAKE2b-256 of the step (8 bytes, little-endian) and the tree's root.
Digest with_step(StepIndex step, const Digest& root) {
    ByteWriter writer;
    writer.write(step.value());
    writer.append(root.bytes);
    return blake2b(std::move(writer).finish());
}

}  // namespace

Digest state_digest(StepIndex step, std::span<const std::byte> bytes,
                    const kernels::Workers& workers) {
    return with_step(step, Digest{kernels::tree_digest(bytes, workers)});
}

Digest state_digest(StepIndex step, std::span<const Digest> leaves, std::uint64_t total_bytes) {
    return with_step(step, tree_root(leaves, total_bytes));
}

ModelState::ModelState(const std::vector<TensorRange>& tensors, const OptimizerSettings& settings)
    : settings_(settings),
      count_(checked_count(tensors)),
      tables_(tensors, settings.optimizer),
      values_(state_vectors(settings.optimizer) * count_) {
    DEDLOC_CHECK(are_usable(settings), "the optimizer's settings are invalid");
}

void ModelState::initialise(std::span<const float> parameters) {
    DEDLOC_CHECK(parameters.size() == count_, "the model has another number of parameters",
                 parameters.size(), count_);
    std::fill(values_.begin(), values_.end(), 0.0f);
    tables_.put_initial(parameters, vector(0));
    step_ = StepIndex{0};
}

UpdateReport ModelState::apply(std::span<const float> average, const UpdateScalars& scalars,
                               const kernels::Workers& workers) {
    DEDLOC_CHECK(average.size() == count_, "the average has another number of elements",
                 average.size(), count_);
    DEDLOC_CHECK(are_usable(scalars), "the update scalars are invalid");
    tables_.move_to(step_);
    const UpdateTables& tables = tables_.current();
    step_ = step_.next();
    UpdateReport report{.gradient_norm = kernels::global_norm(average, tables.frozen, workers)};
    if (!std::isfinite(report.gradient_norm)) return report;
    report.was_applied = true;
    report.clip_factor =
        kernels::clip_factor(report.gradient_norm, static_cast<float>(settings_.clip_norm));
    if (formats::is_lamb(settings_.optimizer)) {
        kernels::lamb({.parameters = vector(0),
                       .first_moment = vector(1),
                       .second_moment = vector(2),
                       .gradient = average},
                      tables.tensors, lamb_arguments(settings_, scalars, report.clip_factor), {},
                      workers);
    } else {
        kernels::sgd({.parameters = vector(0), .momentum = vector(1), .gradient = average},
                     tables.tensors, sgd_arguments(settings_, scalars, report.clip_factor), {},
                     workers);
    }
    kernels::unit_rows(vector(0), tables.unit_rows, workers);
    return report;
}

bool ModelState::restore(StepIndex step, std::span<const std::byte> bytes, const Digest& expected,
                         const kernels::Workers& workers) {
    if (bytes.size() != byte_count()) return false;
    if (state_digest(step, bytes, workers) != expected) return false;
    std::memcpy(values_.data(), bytes.data(), bytes.size());
    step_ = step;
    return true;
}

Digest ModelState::digest(const kernels::Workers& workers) const {
    return state_digest(step_, bytes(), workers);
}

std::span<float> ModelState::vector(std::size_t index) {
    return std::span{values_}.subspan(index * count_, count_);
}

std::vector<Digest> ModelState::leaf_digests(const kernels::Workers& workers) const {
    std::vector<Digest> leaves;
    for (const kernels::DigestBytes& leaf : kernels::leaf_digests(bytes(), workers)) {
        leaves.push_back(Digest{leaf});
    }
    return leaves;
}

}  // namespace dedloc::state
