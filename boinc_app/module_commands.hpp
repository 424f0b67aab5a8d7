// dedloc_train describe and dedloc_train export: for researchers who bring a module. They are in
// this program because no other has libtorch and is on every machine where a run is tried.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "peer/formats/run_file.hpp"

namespace dedloc {

/// The command line of `dedloc_train describe`.
struct DescribeOptions {
    std::filesystem::path module;               ///< the module's file
    std::vector<std::filesystem::path> shards;  ///< all of text, of pictures, or of tensors
    std::uint64_t sequence_length = 128;        ///< tokens of a window, for text
    std::uint64_t picture_side = 32;            ///< pixels of a square's side, for pictures
    std::string name = "module";                ///< name of the run
    std::uint64_t target_batch = 256;           ///< samples of a step
    std::uint64_t steps = 1'000;                ///< steps of the run
    double learning_rate = 0.001;               ///< highest, of LAMB
    std::filesystem::path out;                  ///< the run file to write
};

/// Loads the module as a volunteer's trainer does, computes one sample, and writes a run file that
/// `dedloc_train local` trains as it is. Parameters get the initial values of the module's: zeros,
/// ones, or normal with the same deviation from 0; those of two and more dimensions decay.
///
/// Errors: InputError: what a trainer would refuse; IoError
void describe_module(const DescribeOptions& options);

/// The command line of `dedloc_train export`.
struct ExportOptions {
    std::filesystem::path run;         ///< the run file
    std::filesystem::path module;      ///< the run's module
    std::filesystem::path checkpoint;  ///< a state of the run
    std::filesystem::path out;         ///< the module to write
};

/// Writes the run's module with the parameters of a checkpoint. No ledger is asked: `dedloc run
/// checkpoints` says which states are proven.
///
/// Errors: InputError: another module, or a checkpoint of another run or damaged; IoError
void export_module(const formats::RunFile& run, const ExportOptions& options);

}  // namespace dedloc
