// The memory that a peer of a run needs, by its model: estimates for the choice of a micro-batch
// and for the limits of jobs.
#pragma once

#include <cstdint>

#include "peer/formats/run_file.hpp"

namespace dedloc::formats {

/// How a model's matrix products are computed, as far as memory is concerned.
struct ProductFormat {
    bool is_reduced = false;       ///< 16-bit products; false: fp32
    bool fuses_attention = false;  ///< attention's weights are not stored
    bool fuses_layers = false;     ///< see training/fused_layers.hpp; only if is_reduced
};

/// Bytes that a sample of full length needs while its gradient is computed, besides the vectors of
/// N floats. An estimate; boinc_app/training/README.md has what was measured.
/// That for reduced precision counts what autograd saves.
std::uint64_t activation_bytes(const RunFile& run, const ProductFormat& format);

/// Bytes that a micro-batch of any size needs besides activations: the gradient, in reduced
/// precision the weights that were cast for each product, and in fp32 with fused attention, as
/// processors compute ALBERT, those that were packed.
std::uint64_t micro_batch_bytes(const RunFile& run, const ProductFormat& format);

/// Bytes that a trainer needs at least, with micro-batches of one unit: on a machine that computes
/// on its processors, and of a GPU's memory. They include the program and libtorch, and on
/// the machine the `kept_averages` last averages for peers that are behind and a copy of the state,
/// made to save it or to give it to peers. On a machine with a GPU
/// a trainer needs less memory than on one without.
std::uint64_t trainer_machine_bytes(const RunFile& run, std::uint32_t kept_averages);
std::uint64_t trainer_gpu_bytes(const RunFile& run);

/// Bytes of a run's state: the parameters and the optimizer's moments.
std::uint64_t state_bytes(const RunFile& run);
/// Bytes of the file of such a state (checkpoint_head.hpp).
std::uint64_t checkpoint_bytes(const RunFile& run);

/// Bytes that a trainer's states take on the disk: the saved one, which is replaced by another, and
/// one that it uploads.
std::uint64_t trainer_disk_bytes(const RunFile& run);

/// Bytes that an aggregator needs: the program, the average, and of each contribution the part that
/// it averages. An estimate: one with a faster link than all others averages more.
std::uint64_t aggregator_bytes(const RunFile& run);

}  // namespace dedloc::formats
