// What training needs of a machine: memory, and the time of a micro-batch, which is also how long a
// trainer may take to answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "boinc_app/training/accelerator.hpp"
#include "boinc_app/training/computation.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::training {

/// What a trainer computes with.
struct Device {
    unsigned threads = 1;                ///< compute threads of the processor
    std::uint64_t memory_bytes = 0;      ///< physical memory of the machine
    std::optional<GpuProperties> gpu{};  ///< nothing: the processor computes
    Computation computation{};           ///< how the model computes
    std::uint64_t micro_batch = 0;       ///< samples at once by a trial; 0: none has chosen
};

/// formats::activation_bytes and formats::micro_batch_bytes for the way in which a device computes.
std::uint64_t activation_bytes(const formats::RunFile& run, const Computation& computation = {});
std::uint64_t micro_batch_bytes(const formats::RunFile& run, const Computation& computation = {});

/// The number of samples that a device should compute at once: as many as take a fraction of a
/// second and a quarter of the memory (of a GPU: half of its free memory); at least 1, at most 64
/// (256). It changes nothing but the rounding of a contribution, since samples are drawn one by one
/// (batch.hpp).
std::uint64_t suitable_micro_batch(const formats::RunFile& run, const Device& device);

/// The number of samples that a device computes at once: one unit if samples depend on each other
/// (formats::samples_together), else `wanted`, or if that is 0 the number that a trial has chosen,
/// else a suitable one.
std::uint64_t micro_batch_for(const formats::RunFile& run, const Device& device,
                              std::uint64_t wanted);

/// One line on the memory that a trainer of this run holds, for the log: its vectors of N floats on
/// the machine and on its GPU, the averages that it keeps for peers that are behind (RoundRules),
/// and what a micro-batch needs.
std::string memory_line(const formats::RunFile& run, std::uint64_t micro_batch,
                        std::uint32_t kept_averages, const Device& device = {});

}  // namespace dedloc::training
