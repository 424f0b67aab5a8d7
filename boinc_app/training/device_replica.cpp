// The digest of a state needs every byte of it on the host, after each update: it is computed piece
// by piece while the device copies the next one, so the host holds no copy of the state.
#include "boinc_app/training/device_replica.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "kernels/digest.hpp"
#include "kernels/global_norm.hpp"
#include "peer/base/check.hpp"
#include "peer/state/run_state.hpp"
#include "peer/state/update_arguments.hpp"

namespace dedloc::training {
namespace {

static_assert(Accelerator::kStagingBytes % kernels::kLeafBytes == 0,
              "a piece of a state must consist of whole leaves of its digest");

/// Floats in device memory.
std::span<float> floats_of(const DeviceMemory& memory, std::size_t first, std::size_t count) {
    return {static_cast<float*>(static_cast<void*>(memory.data())) + first, count};
}

void append_leaves(std::span<const std::byte> piece, const kernels::Workers& workers,
                   std::vector<Digest>& leaves) {
    for (const kernels::DigestBytes& leaf : kernels::leaf_digests(piece, workers)) {
        leaves.push_back(Digest{leaf});
    }
}

}  // namespace

/// The vectors in the device's memory, and the model that reads them.
struct DeviceReplica::Held {
    Held(const DeviceReplica& replica, std::size_t vectors)
        : count(replica.count_),
          state(replica.device_->allocate(vectors * count * sizeof(float))),
          sum_memory(replica.device_->allocate(count * sizeof(float))),
          average_memory(replica.device_->allocate(count * sizeof(float))),
          model(replica.task_.make_model(vector(0), replica.computation_)) {}

    /// A vector of the state; 0: the parameters.
    std::span<float> vector(std::size_t index) const {
        return floats_of(*state, index * count, count);
    }
    std::span<float> sum() const { return floats_of(*sum_memory, 0, count); }
    std::span<float> average() const { return floats_of(*average_memory, 0, count); }

    const std::size_t count;
    const std::unique_ptr<DeviceMemory> state, sum_memory, average_memory;
    const std::unique_ptr<Model> model;
};

DeviceReplica::DeviceReplica(const formats::RunFile& run, const Task& task,
                             const kernels::Workers& workers, std::unique_ptr<Accelerator> device,
                             const Computation& computation)
    : run_(run),
      task_(task),
      workers_(workers),
      settings_(state::optimizer_settings(run)),
      tables_(state::tensor_ranges(run), settings_.optimizer),
      count_(static_cast<std::size_t>(formats::element_count(run))),
      device_(std::move(device)),
      computation_(computation) {
    DEDLOC_CHECK(state::are_usable(settings_), "the optimizer's settings are invalid");
    device_->attach();
    held();
}

DeviceReplica::~DeviceReplica() = default;

std::size_t DeviceReplica::state_bytes() const {
    return formats::state_vectors(settings_.optimizer) * count_ * sizeof(float);
}

DeviceReplica::Held& DeviceReplica::held() {
    if (held_) return *held_;
    const std::size_t vectors = formats::state_vectors(settings_.optimizer);
    held_ = std::make_unique<Held>(*this, vectors);
    if (parked_.empty()) {
        device_->clear({held_->state->data(), state_bytes()});
    } else {
        write_state(parked_);
        parked_ = {};
    }
    return *held_;
}

void DeviceReplica::send_tables() {
    if (tables_.move_to(step_)) has_tables_ = false;
    if (has_tables_) return;
    device_->set_tensors(tables_.current().tensors, tables_.current().unit_rows);
    has_tables_ = true;
}

void DeviceReplica::release() {
    has_sum_ = false;
    if (!held_) return;
    Buffer bytes(state_bytes());
    read_state([&](std::size_t offset, std::span<const std::byte> piece) {
        std::memcpy(bytes.data() + offset, piece.data(), piece.size());
    });
    parked_ = std::move(bytes);
    held_.reset();
    device_->trim();
}

void DeviceReplica::write_state(std::span<const std::byte> bytes) {
    upload(*device_, bytes, {held_->state->data(), state_bytes()});
}

void DeviceReplica::read_state(const TakePiece& take) {
    if (held_) return download(*device_, {held_->state->data(), state_bytes()}, take);
    constexpr std::size_t kPiece = Accelerator::kStagingBytes;
    const std::span<const std::byte> all{parked_};
    for (std::size_t offset = 0; offset < all.size(); offset += kPiece) {
        take(offset, all.subspan(offset, std::min(kPiece, all.size() - offset)));
    }
}

void DeviceReplica::initialise(std::span<const float> parameters) {
    DEDLOC_CHECK(parameters.size() == count_, "the model has another number of parameters",
                 parameters.size(), count_);
    AlignedFloats values(count_);
    tables_.put_initial(parameters, values);
    const Held& memory = held();
    device_->clear({memory.state->data(), state_bytes()});
    upload(*device_, std::as_bytes(std::span{values}), std::as_writable_bytes(memory.vector(0)));
    step_ = StepIndex{0};
}

bool DeviceReplica::load(StepIndex step, std::span<const std::byte> bytes, const Digest& expected) {
    if (bytes.size() != state_bytes()) return false;
    if (state::state_digest(step, bytes, workers_) != expected) return false;
    held();
    write_state(bytes);
    step_ = step;
    return true;
}

std::optional<double> DeviceReplica::add_gradient(const SampleRange& samples,
                                                  const IsInterrupted& is_interrupted) {
    Held& memory = held();
    if (!std::exchange(has_sum_, true)) device_->clear(std::as_writable_bytes(memory.sum()));
    return memory.model->add_gradient(samples, memory.sum(), is_interrupted);
}

GradientSum DeviceReplica::take_sum() {
    GradientSum sum{.values = FloatVector(count_), .is_finite = true};
    if (!std::exchange(has_sum_, false)) return sum;
    const std::span<const float> there = held().sum();
    sum.is_finite = device_->all_finite(there);
    const auto to = std::as_writable_bytes(std::span{sum.values});
    download(*device_, std::as_bytes(there),
             [&](std::size_t offset, std::span<const std::byte> piece) {
                 std::memcpy(to.data() + offset, piece.data(), piece.size());
             });
    return sum;
}

state::UpdateReport DeviceReplica::apply(std::span<const float> average,
                                         const UpdateScalars& scalars) {
    DEDLOC_CHECK(average.size() == count_, "the average has another number of elements",
                 average.size(), count_);
    DEDLOC_CHECK(state::are_usable(scalars), "the update scalars are invalid");
    const Held& memory = held();
    const std::span<float> gradient = memory.average();
    upload(*device_, std::as_bytes(average), std::as_writable_bytes(gradient));
    send_tables();
    for (const kernels::ElementRange& range : tables_.current().frozen) {
        device_->clear(std::as_writable_bytes(gradient.subspan(
            static_cast<std::size_t>(range.first), static_cast<std::size_t>(range.count))));
    }
    state::UpdateReport report{.gradient_norm = device_->global_norm(gradient)};
    step_ = step_.next();
    if (!std::isfinite(report.gradient_norm)) return report;
    report.was_applied = true;
    report.clip_factor =
        kernels::clip_factor(report.gradient_norm, static_cast<float>(settings_.clip_norm));
    if (formats::is_lamb(settings_.optimizer)) {
        device_->update(kernels::LambVectors{.parameters = memory.vector(0),
                                             .first_moment = memory.vector(1),
                                             .second_moment = memory.vector(2),
                                             .gradient = gradient},
                        state::lamb_arguments(settings_, scalars, report.clip_factor));
    } else {
        device_->update(
            kernels::SgdVectors{
                .parameters = memory.vector(0), .momentum = memory.vector(1), .gradient = gradient},
            state::sgd_arguments(settings_, scalars, report.clip_factor));
    }
    return report;
}

Digest DeviceReplica::digest() {
    std::vector<Digest> leaves;
    read_state([&](std::size_t, std::span<const std::byte> piece) {
        append_leaves(piece, workers_, leaves);
    });
    return state::state_digest(step_, leaves, state_bytes());
}

StateCopy DeviceReplica::copy() {
    StateCopy copy{.bytes = Buffer(state_bytes()), .leaves = {}};
    read_state([&](std::size_t offset, std::span<const std::byte> piece) {
        std::memcpy(copy.bytes.data() + offset, piece.data(), piece.size());
        append_leaves(piece, workers_, copy.leaves);
    });
    return copy;
}

SharedState DeviceReplica::share() {
    StateCopy now = copy();
    return {.bytes = stable_bytes(std::make_shared<const Buffer>(std::move(now.bytes))),
            .leaves = std::move(now.leaves)};
}

}  // namespace dedloc::training
