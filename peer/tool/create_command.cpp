// Validates the whole run file before the key file is created, so that wrong arguments leave
// nothing behind. Backbone and project have the same key.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/base/text.hpp"
#include "peer/net/endpoint_text.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/key_file.hpp"
#include "peer/tool/commands.hpp"
#include "peer/tool/files.hpp"
#include "peer/tool/synthetic_run.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::tool {
namespace {

struct CreateArguments {
    std::filesystem::path run;
    std::filesystem::path key;
    std::uint64_t bytes = 0;
    std::uint64_t steps = 100;
    std::uint64_t target_batch = 64;
    std::uint64_t random_seed = 0;
    std::string encryption = "on";
    Codec codec = Codec::kFp32;
    bool overlaps = false;
    std::vector<std::string> seeds;
};

void create(const CreateArguments& arguments) {
    SyntheticRun synthetic{.bytes = arguments.bytes,
                           .steps = arguments.steps,
                           .target_batch = arguments.target_batch,
                           .seed = arguments.random_seed,
                           .encrypts = arguments.encryption == "on",
                           .codec = arguments.codec,
                           .overlaps = arguments.overlaps,
                           .dht_seeds = {}};
    for (const std::string& text : arguments.seeds) {
        const auto seed = split_host_and_port(text);
        if (!seed || seed->port == 0) {
            throw InputError("--seed wants HOST:PORT, not '" + text + "'");
        }
        synthetic.dht_seeds.push_back({seed->host, seed->port});
    }
    if (std::filesystem::exists(arguments.run)) {
        throw InputError(arguments.run.string() + " exists already");
    }
    formats::RunFile run = make_run(synthetic);
    (void)formats::write_run_file(run);  // throws before a key file is created
    run.project_key = run.backbone_key = platform::read_or_create_key(arguments.key).public_key();
    platform::replace_file(arguments.run, bytes_of(formats::write_run_file(run)));
}

}  // namespace

void add_create_command(CLI::App& app) {
    const auto arguments = std::make_shared<CreateArguments>();
    CLI::App* command =
        app.add_subcommand("create", "Write a run file without a model, with a vector of any size");
    command->add_option("RUNFILE", arguments->run, "Run file to write")->required();
    command
        ->add_option("--key", arguments->key,
                     "Key file of backbone and project, created if it does not exist")
        ->required();
    command
        ->add_option("--bytes", arguments->bytes,
                     "Size of the vector in fp32, such as 18MB; rounded up to 256 bytes")
        ->required()
        ->transform(CLI::AsSizeValue(true));
    command->add_option("--steps", arguments->steps, "Steps of the run")->capture_default_str();
    command->add_option("--target-batch", arguments->target_batch, "Samples of one step")
        ->check(CLI::Range(std::uint64_t{1}, wire::kMaxTargetBatch))
        ->capture_default_str();
    command
        ->add_option("--random-seed", arguments->random_seed,
                     "A different number makes a different run")
        ->capture_default_str();
    command
        ->add_option("--encryption", arguments->encryption,
                     "off: plain frames, for a trusted network; tickets are still proven")
        ->check(CLI::IsMember({"on", "off"}))
        ->capture_default_str();
    command
        ->add_option_function<std::string>(
            "--codec",
            [arguments](const std::string& name) { arguments->codec = *codec_named(name); },
            "Encoding of gradients and averages: fp16 and bf16 need half the bytes of fp32, int8 a "
            "quarter")
        ->check(CLI::IsMember(std::vector<std::string>(kCodecNames.begin(), kCodecNames.end())))
        ->default_str(name_of(arguments->codec));
    command->add_flag("--overlap", arguments->overlaps,
                      "Trainers compute for the next round while a round is on its way");
    command->add_option("--seed", arguments->seeds, "HOST:PORT of a DHT seed, once for each");
    command->callback([arguments] { create(*arguments); });
}

}  // namespace dedloc::tool
