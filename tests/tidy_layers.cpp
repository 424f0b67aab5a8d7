#include "tests/tidy_layers.hpp"

#include <initializer_list>

namespace dedloc::tidy {
namespace {

using Names = std::vector<std::string>;
using Bans = std::vector<Ban>;

template <class List>
List joined(std::initializer_list<List> lists) {
    List all;
    for (const List& list : lists) all.insert(all.end(), list.begin(), list.end());
    return all;
}

const Names kSystem{"sys/",    "arpa/",     "netinet/",  "net/",     "netdb.h",
                    "fcntl.h", "unistd.h",  "pthread.h", "signal.h", "stdlib.h",
                    "pwd.h",   "poll.h",    "sched.h",   "spawn.h",  "time.h",
                    "linux/",  "grp.h",     "dlfcn.h",   "link.h",   "elf.h",
                    "glob.h",  "termios.h", "ifaddrs.h", "malloc.h", "dirent.h"};
const Names kBoincServer{"boinc_db.h",    "boinc_db_types.h", "sched_config.h", "sched_util",
                         "backend_lib.h", "config.h",         "credit.h",       "crypt.h",
                         "md5_file.h",    "parse.h",          "str_util.h",     "filesys.h",
                         "util.h",        "error_numbers.h",  "common_defs.h",  "sched_msgs.h"};
const Names kBoincApp{"api/boinc_api.h", "boinc_api.h",     "app_ipc.h",
                      "filesys.h",       "error_numbers.h", "boinc/"};
const Names kJson{"rapidjson/"};
const Names kText{"fmt/"};
const Names kNumbers{"kernels/",    "sodium.h", "cuda_runtime.h",
                     "cuda_fp16.h", "cpuid.h",  "immintrin.h"};

const Bans kNoClock{
    {R"(\b(steady_clock|system_clock|high_resolution_clock|utc_clock)\b)",
     "the time is an argument"},
    {R"(\b(clock_gettime|gettimeofday|std::time|std::clock|sleep_for|sleep_until|usleep)\b)",
     "the time is an argument"}};
const Bans kNoChance{
    {R"(\bstd::(mt19937\w*|random_device|\w+_distribution)\b|\b(s?rand|drand48)\s*\()",
     "randomness comes from Random"}};
const Bans kNoThreads{
    {R"(\bstd::(j?thread|\w*mutex|condition_variable\w*|async|future|promise|lock_guard)\b)",
     "one thread owns each object, and adapters drive it"},
    {R"(\bThreadWorkers\b)", "one thread owns each object, and adapters drive it"}};
const Bans kNoAdapters{
    {R"(\b(asio::|libtorrent\b|boinc_\w+|cuda[A-Z]\w+|torch::|at::|curl_\w+|mysql_\w+))",
     "adapters stay outside"}};
/// Different libraries round these differently; the same bits are wanted everywhere.
const Bans kExact{
    {R"(\bstd::(fma|pow|exp2?|expm1|log(2|10|1p)?|sin|cos|tanh?|hypot|cbrt|accumulate|reduce)\b)",
     "only + - * / and sqrt round the same way everywhere, and sums have a written order"}};

const Names kNoThreadHeaders{
    "thread", "mutex",   "condition_variable", "shared_mutex", "future", "semaphore",
    "latch",  "barrier", "stop_token",         "random",       "ctime",  "csignal"};

using Layers = std::vector<Layer>;

/// A folder of the protocol core: no clock, threads, sockets or chance.
Layer core(const std::string& folder, const Names& includes) {
    Names allowed = joined({includes, Names{"peer/wire/", "peer/base/"}, kText});
    if (folder.ends_with('/') && folder != "peer/") allowed.push_back(folder);
    return {folder, allowed, kNoThreadHeaders,
            joined({kNoClock, kNoChance, kNoThreads, kNoAdapters})};
}

/// A part of the real network.
Layer net(const std::string& folder, const Names& includes) {
    const Names below{"peer/wire/", "peer/platform/", "peer/base/"};
    return {folder, joined({includes, below, kSystem, kText}), {"random"}, kNoChance};
}

Layers ground_layers() {
    const Bans pure = joined({kNoClock, kNoChance, kNoThreads, kNoAdapters});
    return {
        // Numbers: nothing of the repository, nothing that rounds differently elsewhere.
        {"kernels/", kNumbers, kNoThreadHeaders, joined({kNoClock, kNoChance, kNoThreads, kExact})},
        {"kernels/thread_workers.", {"kernels/"}, {"random"}, joined({kNoClock, kNoChance})},
        // Units, checks, digests. Its log is the one place that knows spdlog.
        {"peer/base/", joined({Names{"peer/base/", "sodium.h", "spdlog/"}, kText}),
         kNoThreadHeaders, pure},
        // The operating system: files, signals, processes, limits.
        {"peer/platform/",
         joined({Names{"peer/platform/", "peer/base/"}, kSystem, kText}),
         {"random"},
         kNoChance},
        {"peer/wire/",
         joined({Names{"peer/wire/", "peer/base/", "flatbuffers/", "messages_generated.h"}, kText}),
         kNoThreadHeaders, pure},
        {"peer/formats/",
         joined({Names{"peer/formats/", "peer/wire/", "peer/base/", "flatbuffers/",
                       "receipt_generated.h"},
                 kJson, kText}),
         kNoThreadHeaders, pure},
    };
}

/// From the bottom up: state machines that are told the time and what happened.
Layers core_layers() {
    return {
        core("peer/", {"peer/config.hpp", "peer/events.hpp"}),
        core("peer/planning/", {}),
        core("peer/progress/", {}),
        core("peer/membership/", {"peer/config.hpp", "peer/events.hpp", "peer/outbox.hpp"}),
        core("peer/state/", {"peer/config.hpp", "peer/events.hpp", "peer/outbox.hpp",
                             "peer/formats/", "kernels/"}),
        core("peer/round/",
             {"peer/config.hpp", "peer/events.hpp", "peer/outbox.hpp", "peer/membership/",
              "peer/planning/", "peer/progress/", "peer/state/", "kernels/"}),
        core("peer/ledger/", {"peer/membership/quorum.hpp", "peer/formats/"}),
        core("peer/core/",
             {"peer/peer.hpp", "peer/config.hpp", "peer/events.hpp", "peer/outbox.hpp",
              "peer/membership/", "peer/progress/", "peer/round/", "peer/state/", "kernels/"}),
        core("peer/peer.", {"peer/config.hpp", "peer/events.hpp", "kernels/"}),
        core("peer/run_config.",
             {"peer/run_config.hpp", "peer/config.hpp", "peer/formats/", "peer/state/"}),
        // Members that break the protocol on purpose, for tests.
        core("peer/hostile/", {"peer/events.hpp"}),
        // A driver of the core in virtual time.
        core("peer/simulation/",
             {"peer/peer.hpp", "peer/events.hpp", "peer/trainer.hpp", "peer/hostile/",
              "peer/membership/", "peer/round/", "peer/state/", "kernels/"}),
    };
}

/// The adapters of the core to a real network, each behind an interface of peer/net/, and programs.
Layers adapter_layers() {
    return {
        net("peer/net/", {"peer/net/endpoint_text.hpp", "peer/net/event_queue.hpp",
                          "peer/events.hpp", "peer/trainer.hpp"}),
        net("peer/net/session/",
            {"peer/net/session/", "peer/formats/", "sodium.h", "openssl/evp.h"}),
        net("peer/net/tcp/",
            {"peer/net/tcp/", "peer/net/session/", "peer/net/transport.hpp",
             "peer/net/endpoint_text.hpp", "peer/events.hpp", "peer/trainer.hpp", "boost/"}),
        net("peer/net/dht/",
            {"peer/net/dht/", "peer/net/directory.hpp", "peer/net/endpoint_text.hpp",
             "peer/events.hpp", "peer/trainer.hpp", "libtorrent/"}),
        net("peer/net/gateway/", {"peer/net/gateway/", "peer/formats/", "curl/", "sodium.h"}),
        net("peer/net/reactor.",
            {"peer/net/reactor.hpp", "peer/net/transport.hpp", "peer/net/directory.hpp",
             "peer/net/event_queue.hpp", "peer/peer.hpp", "peer/trainer.hpp", "kernels/"}),
        net("peer/net/port_mapping.",
            {"peer/net/port_mapping.hpp", "peer/net/tcp/", "peer/net/dht/", "libtorrent/"}),
        // A headless peer, for tests and trouble-shooting.
        {"peer/tool/",
         joined({Names{"peer/tool/", "peer/hostile/", "peer/net/", "peer/peer.hpp",
                       "peer/events.hpp", "peer/trainer.hpp", "peer/run_config.hpp",
                       "peer/planning/", "peer/state/", "peer/formats/", "peer/wire/",
                       "peer/platform/", "peer/base/", "kernels/", "CLI/", "sodium.h"},
                 kSystem, kText}),
         {"random"},
         kNoChance},
        // The planner's program.
        {"peer/plan_tool/",
         joined({Names{"peer/plan_tool/", "peer/planning/", "peer/simulation/", "peer/formats/",
                       "peer/wire/", "peer/platform/", "peer/base/", "CLI/"},
                 kJson, kText}),
         {"random"},
         kNoChance},
    };
}

/// A part of the seat, which both apps take: nothing of training, so that an aggregator carries no
/// libtorch.
Layer seat(const std::string& folder) {
    return {folder,
            joined({Names{"boinc_app/averaging_worker.hpp",
                          "boinc_app/boinc_runtime.hpp",
                          "boinc_app/damaged_input.hpp",
                          "boinc_app/planned_fault.hpp",
                          "boinc_app/reachability.hpp",
                          "boinc_app/seat",
                          "boinc_app/slot_files.hpp",
                          "boinc_app/status_page.hpp",
                          "boinc_app/temporary_exits.hpp",
                          "boinc_app/ticket_keeper.hpp",
                          "boinc_app/volunteer_runtime.hpp",
                          "peer/net/",
                          "peer/trainer.hpp",
                          "peer/events.hpp",
                          "peer/run_config.hpp",
                          "peer/formats/",
                          "peer/wire/",
                          "peer/membership/quorum.hpp",
                          "peer/state/model_state.hpp",
                          "peer/platform/",
                          "peer/base/",
                          "kernels/",
                          "CLI/",
                          "sodium.h"},
                    kText}),
            {"random"},
            kNoChance};
}

Layers app_layers() {
    return {
        // The apps, and inside them the one folder that knows torch.
        {"boinc_app/",
         joined({Names{"boinc_app/", "peer/net/", "peer/events.hpp", "peer/run_config.hpp",
                       "peer/formats/", "peer/wire/", "peer/platform/", "peer/base/", "kernels/",
                       "CLI/", "sodium.h"},
                 kBoincApp, kSystem, kJson, kText}),
         {"random"},
         kNoChance},
        seat("boinc_app/seat"),
        seat("boinc_app/averaging_worker."),
        seat("boinc_app/aggregate_main."),
        // The server of the page on loopback.
        {"boinc_app/status_page.",
         joined({Names{"boinc_app/", "peer/platform/", "peer/base/", "boost/"}, kText}),
         {"random"},
         kNoChance},
        {"boinc_app/training/",
         joined({Names{"boinc_app/training/", "peer/trainer.hpp", "peer/progress/", "peer/state/",
                       "peer/platform/copy_on_write.hpp", "peer/formats/", "peer/wire/",
                       "peer/base/", "kernels/", "torch/", "ATen/", "c10/"},
                 kText}),
         {"random"},
         kNoChance},
        // The plug-in for GPUs: all that it needs of the app are the interface and the errors.
        {"boinc_app/cuda/",
         joined({Names{"boinc_app/cuda/", "boinc_app/training/accelerator.hpp",
                       "boinc_app/training/computation.hpp", "boinc_app/training/device_error.hpp",
                       "boinc_app/training/fused_layers.hpp", "kernels/", "c10/cuda/",
                       "cuda_runtime_api.h"},
                 kText}),
         {"random", "thread"},
         kNoChance},
    };
}

/// Texts to token ids as other programs do it, with the data of ICU.
Layer tokenizer_layer() {
    return {"project_server/tokenizer/",
            joined({Names{"project_server/tokenizer/", "project_server/huggingface/",
                          "peer/formats/", "peer/platform/", "peer/base/", "unicode/"},
                    kText}),
            {"random"},
            kNoChance};
}

Layers project_layers() {
    return {
        // Verdicts on what volunteers send, and the daemon that asks for them.
        {"validators/",
         joined({Names{"validators/", "peer/formats/", "peer/wire/", "peer/base/",
                       "peer/platform/files.hpp", "peer/platform/stop_signals.hpp", "CLI/",
                       "project_server/daemon.hpp", "project_server/database/",
                       "project_server/settings.hpp", "project_server/xml/job_documents.hpp",
                       "project_server/backbone/uploaded_checkpoint.hpp", "config.h",
                       "boinc_db_types.h", "sched_util_basic.h"},
                 kSystem, kText}),
         {"random"},
         kNoChance},
        {"project_server/",
         joined({Names{"project_server/", "peer/formats/", "peer/wire/", "peer/platform/",
                       "peer/base/", "peer/net/gateway/http_request.hpp", "CLI/", "sodium.h",
                       "mysql.h", "mysqld_error.h", "httplib.h", "openssl/", "curl/",
                       "sentencepiece_", "unicode/", "kainjow/", "zlib.h"},
                 kBoincServer, kSystem, kJson, kText}),
         {"random"},
         kNoChance},
        // XML files that administrators write. All other XML is BOINC's loose kind, and is read by
        // project_server/xml/xml.
        {"project_server/xml/xml_text.",
         joined({Names{"project_server/xml/xml_text.hpp", "peer/base/", "pugixml.hpp"}, kText}),
         kNoThreadHeaders, kNoChance},
        // A run that starts from a model needs the first values of a new run, too.
        {"project_server/cli/",
         joined({Names{"project_server/", "peer/formats/", "peer/wire/", "peer/platform/",
                       "peer/base/", "peer/state/run_state.hpp", "CLI/", "sodium.h", "archive.h",
                       "archive_entry.h"},
                 kSystem, kJson, kText}),
         {"random"},
         kNoChance},
        tokenizer_layer(),
        // Files of Hugging Face: formats only, no project and no database.
        {"project_server/huggingface/",
         joined(
             {Names{"project_server/huggingface/", "peer/formats/", "peer/platform/", "peer/base/",
                    "kernels/arithmetic.hpp", "sodium.h", "archive.h", "archive_entry.h"},
              kJson, kText}),
         {"random"},
         kNoChance},
        // Measures models, so it computes with them as the app does.
        {"project_server/evaluate/",
         joined({Names{"project_server/", "boinc_app/training/", "boinc_app/shard_files.hpp",
                       "peer/state/", "peer/formats/", "peer/wire/", "peer/platform/", "peer/base/",
                       "kernels/", "CLI/"},
                 kJson, kText}),
         {"random"},
         kNoChance},
        // The control plane: messages and their sockets, which alone know nng.
        {"project_server/control/",
         joined({Names{"project_server/control/", "peer/formats/", "peer/wire/", "peer/platform/",
                       "peer/base/", "nng/"},
                 kSystem, kJson, kText}),
         {"random"},
         kNoChance},
        // The backbone is a member of the swarm as well.
        {"project_server/backbone/",
         joined({Names{"project_server/", "peer/", "kernels/", "CLI/", "sodium.h"}, kSystem, kJson,
                 kText}),
         {"random"},
         kNoChance},
        // Tests see everything.
        {"tests/", {""}, {}, kNoChance},
    };
}

}  // namespace

const std::vector<Layer>& layers() {
    static const Layers all =
        joined({ground_layers(), core_layers(), adapter_layers(), app_layers(), project_layers()});
    return all;
}

const Layer* layer_of(std::string_view path) {
    const Layer* longest = nullptr;
    for (const Layer& layer : layers()) {
        if (!path.starts_with(layer.folder)) continue;
        if (longest == nullptr || layer.folder.size() > longest->folder.size()) longest = &layer;
    }
    return longest;
}

const std::vector<Habit>& habits() {
    static const std::string code = R"(\.(hpp|cpp|cu)$)";
    static const std::string text = R"(\.(hpp|cpp|cu|fbs|sql|md|txt|xml|js|html)$|^setup$|run$)";
    static const std::vector<Habit> all{
        {code, R"(\busing namespace std\s*;)", false, "names of std are spelled out"},
        {code, R"(#\s*include\s*"\.\./)", true, "includes are named from the root"},
        {R"(CMakeLists\.txt$)", R"(file\s*\(\s*GLOB)", true, "sources are listed, not globbed"},
        {R"(^tests/(kernels|peer|sim)/.*\.[ch]pp$)",
         R"(\b(sleep_for|sleep_until|usleep|nanosleep|sleep\s*\())", false,
         "a test that starts no process waits for what it tests, it does not sleep"},
        {"^(?!.*/captured/).*(" + text + ")", "[ \t]+$|\t", true, "has a tab or trailing blanks"},
        {text, R"((^|[^\w./-])/(work|root|home/\w+|Users/\w+)/)", true,
         "names a folder of somebody's machine"},
        {text, R"(\bissue #?[0-9])", true, "names an issue: say what it said"},
        {R"(^(?!tests/tidy_).*\.(hpp|cpp|cu)$)", R"(\b(TODO|FIXME)(?!\((perf|port|paper)\): ))",
         true, "a TODO says which kind: TODO(perf|port|paper): ..."},
    };
    return all;
}

}  // namespace dedloc::tidy
