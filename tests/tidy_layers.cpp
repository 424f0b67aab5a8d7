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
const Names kJson{"rapidjson/"};
const Names kText{"fmt/"};
const Names kTorch{"torch/", "ATen/", "c10/"};
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
        {"peer/wire/", joined({Names{"peer/wire/", "peer/base/", "flatbuffers/"}, kText}),
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
        core("peer/ledger/", {"peer/membership/quorum.hpp"}),
        core("peer/core/",
             {"peer/peer.hpp", "peer/config.hpp", "peer/events.hpp", "peer/outbox.hpp",
              "peer/membership/", "peer/progress/", "peer/round/", "peer/state/", "kernels/"}),
        core("peer/peer.", {"peer/config.hpp", "peer/events.hpp", "kernels/"}),
        core("peer/run_config.",
             {"peer/run_config.hpp", "peer/config.hpp", "peer/formats/", "peer/state/"}),
        // A driver of the core in virtual time.
        core("peer/simulation/",
             {"peer/peer.hpp", "peer/events.hpp", "peer/trainer.hpp", "peer/state/"}),
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
         joined({Names{"peer/tool/", "peer/net/", "peer/peer.hpp", "peer/events.hpp",
                       "peer/trainer.hpp", "peer/run_config.hpp", "peer/planning/", "peer/state/",
                       "peer/formats/", "peer/wire/", "peer/platform/", "peer/base/", "kernels/",
                       "CLI/", "sodium.h"},
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

Layers app_layers() {
    return {
        // The programs. What they consist of are the rooms.
        {"boinc_app/",
         joined({Names{"boinc_app/", "peer/formats/", "peer/platform/", "peer/base/", "kernels/",
                       "CLI/"},
                 kSystem, kText}),
         {"random"},
         kNoChance},
        // An aggregator carries no libtorch.
        {"boinc_app/aggregate_main.",
         joined({Names{"boinc_app/seat/", "peer/base/", "CLI/"}, kText}),
         {"random"},
         kNoChance},
        // The volunteer's machine: BOINC or a terminal.
        {"boinc_app/runtime/",
         joined({Names{"boinc_app/runtime/", "peer/platform/", "peer/base/", "api/boinc_api.h"},
                 kSystem, kText}),
         {"random"},
         kNoChance},
        {"boinc_app/inputs/",
         joined(
             {Names{"boinc_app/inputs/", "peer/formats/", "peer/platform/", "peer/base/"}, kText}),
         {"random"},
         kNoChance},
        // The page on loopback and its server.
        {"boinc_app/page/",
         joined({Names{"boinc_app/page/", "boinc_app/runtime/", "peer/wire/", "peer/platform/",
                       "peer/base/", "boost/"},
                 kText}),
         {"random"},
         kNoChance},
        // The seat, which both apps take: nothing of training.
        {"boinc_app/seat/",
         joined({Names{"boinc_app/seat/", "boinc_app/page/", "boinc_app/runtime/",
                       "boinc_app/inputs/damaged_input.hpp", "peer/net/", "peer/trainer.hpp",
                       "peer/events.hpp", "peer/run_config.hpp", "peer/formats/", "peer/wire/",
                       "peer/membership/quorum.hpp", "peer/state/model_state.hpp", "peer/platform/",
                       "peer/base/", "kernels/", "CLI/", "sodium.h"},
                 kText}),
         {"random"},
         kNoChance},
    };
}

/// The rooms below the seat's worker: pictures, models, trainers, devices.
Layers training_layers() {
    return {
        // Decodes pictures of strangers, and makes crops of them.
        {"boinc_app/pictures/",
         joined(
             {Names{"boinc_app/pictures/", "peer/formats/", "peer/base/", "kernels/arithmetic.hpp",
                    "kernels/instruction_set.hpp", "jerror.h", "jpeglib.h"},
              kText}),
         {"random"},
         kNoChance},
        {"boinc_app/device/",
         joined({Names{"boinc_app/device/", "boinc_app/training/", "peer/formats/",
                       "peer/platform/", "peer/base/", "kernels/"},
                 kSystem, kText}),
         {"random"},
         kNoChance},
        // ALBERT. Its namespace is within that of training.
        {"boinc_app/albert/",
         joined({Names{"boinc_app/albert/", "boinc_app/training/", "peer/formats/", "peer/base/",
                       "kernels/instruction_set.hpp"},
                 kTorch, kText}),
         {"random"},
         kNoChance},
        // Modules of researchers, in TorchScript.
        {"boinc_app/module/",
         joined({Names{"boinc_app/module/", "boinc_app/training/", "boinc_app/pictures/",
                       "peer/formats/", "peer/base/", "caffe2/serialize/"},
                 kTorch, kText}),
         {"random"},
         kNoChance},
        // Knows all kinds of networks.
        {"boinc_app/tasks/",
         joined(
             {Names{"boinc_app/tasks/", "boinc_app/albert/", "boinc_app/module/", "boinc_app/swav/",
                    "boinc_app/training/", "boinc_app/inputs/", "peer/formats/", "peer/base/"},
              kText}),
         {"random"},
         kNoChance},
        {"boinc_app/training/",
         joined({Names{"boinc_app/training/", "peer/trainer.hpp", "peer/progress/", "peer/state/",
                       "peer/platform/copy_on_write.hpp", "peer/formats/", "peer/wire/",
                       "peer/base/", "kernels/"},
                 kTorch, kText}),
         {"random"},
         kNoChance},
        // The second network. It computes beside training/, whose trainer knows it by an interface.
        {"boinc_app/swav/",
         joined({Names{"boinc_app/swav/", "boinc_app/training/", "boinc_app/pictures/",
                       "peer/formats/", "peer/base/"},
                 kTorch, kText}),
         {"random"},
         kNoChance},
        // The plug-in for GPUs: all that it needs of the app are the interface and the errors.
        {"boinc_app/cuda/",
         joined({Names{"boinc_app/cuda/", "boinc_app/pictures/pixel_arithmetic.hpp",
                       "boinc_app/training/accelerator.hpp", "boinc_app/training/computation.hpp",
                       "boinc_app/training/crop_kernel.hpp", "boinc_app/training/device_error.hpp",
                       "boinc_app/training/fused_layers.hpp",
                       "boinc_app/training/layer_arithmetic.hpp", "kernels/", "c10/cuda/",
                       "cuda_runtime_api.h"},
                 kText}),
         {"random", "thread"},
         kNoChance},
    };
}

/// A part of the server. `rooms` are other parts of it, `names` anything else.
Layer server(const std::string& room, const Names& rooms, const Names& names) {
    const std::string folder = "project_server/" + room;
    Names allowed = joined({Names{"peer/base/"}, names, kText});
    if (!room.empty()) allowed.push_back(folder);
    for (const std::string& other : rooms) allowed.push_back("project_server/" + other);
    return {folder, allowed, {"random"}, kNoChance};
}

/// A part of the server that calls the operating system itself.
Layer posix_server(const std::string& room, const Names& rooms, const Names& names) {
    return server(room, rooms, joined({names, kSystem}));
}

/// What needs nothing of a project, and the database.
Layers server_ground() {
    return {
        server("json/", {}, {"rapidjson/"}),
        server("xml/", {}, {"unicode/"}),
        // XML files that administrators write. All other XML is BOINC's loose kind, and is read by
        // project_server/xml/xml.
        {"project_server/xml/xml_text.",
         joined({Names{"project_server/xml/xml_text.hpp", "peer/base/", "pugixml.hpp"}, kText}),
         kNoThreadHeaders, kNoChance},
        // Files of Hugging Face: formats only, no project and no database.
        server("huggingface/", {"json/"},
               {"peer/formats/", "peer/platform/", "kernels/arithmetic.hpp", "archive.h",
                "archive_entry.h"}),
        // Texts to token ids as other programs do it, with ICU's data and Oniguruma's expressions.
        server("tokenizer/", {"huggingface/"},
               {"peer/formats/", "peer/platform/", "oniguruma.h", "sentencepiece_trainer.h",
                "unicode/"}),
        posix_server("corpus/", {"huggingface/", "tokenizer/"},
                     {"peer/formats/", "peer/platform/", "rapidjson/", "sentencepiece_processor.h",
                      "unicode/"}),
        // Pictures to shards. A picture is accepted if the app's own decoder can decode it.
        server("pictures/", {"corpus/"},
               {"boinc_app/pictures/", "peer/formats/", "peer/platform/", "jpeglib.h", "png.h"}),
        // The control plane: messages and their sockets, which alone know nng.
        posix_server("control/", {"json/", "url.hpp"},
                     {"peer/formats/", "peer/wire/", "peer/platform/", "nng/"}),
        posix_server("database/", {"xml/xml_text.hpp"},
                     {"peer/formats/", "peer/wire/", "peer/platform/", "boinc_db.h", "config.h",
                      "md5_file.h", "mysql.h", "mysqld_error.h", "sched_config.h", "sodium.h"}),
        // The files beside the folders: settings, keys and the main functions of the daemons.
        posix_server(
            "",
            {"setting_values.hpp", "settings.hpp", "official_settings.hpp", "daemon.hpp",
             "email_address.hpp", "handover.hpp", "run_sources.hpp", "signed_revocations.hpp",
             "ticket_key.hpp", "url.hpp", "json/", "xml/xml_text.hpp"},
            {"peer/formats/", "peer/wire/", "peer/platform/", "CLI/", "curl/", "sodium.h"}),
    };
}

/// Volunteers: their accounts, what their clients ask for, what they see.
Layers volunteer_layers() {
    return {
        server("http/", {"database/", "xml/"}, {"peer/platform/", "httplib.h"}),
        posix_server("publishing/", {"database/", "xml/"},
                     {"peer/platform/", "config.h", "crypt.h", "md5_file.h", "openssl/", "zlib.h"}),
        server("scheduler/", {"database/", "publishing/", "xml/"},
               {"peer/formats/", "peer/platform/", "boinc_db_types.h"}),
        posix_server("transfer/", {"database/", "publishing/", "xml/"},
                     {"peer/wire/", "peer/platform/", "config.h", "sched_util_basic.h"}),
        server("transitioner/", {"database/"},
               {"backend_lib.h", "boinc_db.h", "boinc_db_types.h", "config.h", "crypt.h"}),
        server("accounts/",
               {"database/", "email_address.hpp", "json/", "publishing/", "scheduler/", "xml/"},
               {"peer/platform/", "config.h", "curl/", "error_numbers.h", "sodium.h"}),
        posix_server(
            "gateway/",
            {"daemon.hpp", "database/", "handover.hpp", "http/", "scheduler/plan_class.hpp",
             "settings.hpp", "signed_revocations.hpp", "ticket_key.hpp", "url.hpp", "xml/"},
            {"peer/formats/", "peer/wire/", "peer/platform/", "httplib.h", "sodium.h"}),
        // Readers of the database, for pages and the command line.
        posix_server("views/", {"database/", "json/", "publishing/", "scheduler/", "xml/"},
                     {"peer/formats/", "peer/wire/", "peer/platform/", "zlib.h"}),
        server("web/",
               {"accounts/", "backbone/remote_voters.hpp", "control/", "daemon.hpp", "database/",
                "email_address.hpp", "http/", "json/", "scheduler/", "settings.hpp", "transfer/",
                "transitioner/", "url.hpp", "views/", "xml/"},
               {"peer/platform/", "config.h", "error_numbers.h", "httplib.h", "kainjow/"}),
    };
}

/// Runs and the project as a whole, up to the command line.
Layers operator_layers() {
    return {
        // The backbone is a member of the swarm as well.
        posix_server("backbone/",
                     {"control/", "daemon.hpp", "database/", "json/", "run_sources.hpp",
                      "settings.hpp", "signed_revocations.hpp"},
                     {"peer/", "kernels/", "CLI/"}),
        server("work/", {"daemon.hpp", "database/", "run_sources.hpp", "settings.hpp", "xml/"},
               {"peer/formats/", "peer/platform/", "CLI/", "backend_lib.h", "boinc_db.h",
                "config.h", "sched_config.h", "sched_util.h"}),
        posix_server("official/",
                     {"database/", "handover.hpp", "json/", "official_settings.hpp", "publishing/",
                      "settings.hpp", "ticket_key.hpp", "url.hpp", "work/", "xml/"},
                     {"peer/formats/", "peer/platform/", "boinc_db_types.h", "config.h",
                      "sched_util.h", "sodium.h"}),
        posix_server("purge/",
                     {"daemon.hpp", "database/", "official/", "publishing/", "work/", "xml/"},
                     {"peer/formats/", "peer/platform/", "CLI/", "config.h", "sched_util.h"}),
        posix_server("packaging/", {"json/", "publishing/"}, {"peer/platform/"}),
        // Measures models, so it computes with them as the app does.
        server("evaluate/",
               {"backbone/", "daemon.hpp", "database/", "finetune/command.hpp", "huggingface/",
                "json/", "run_sources.hpp", "runs/masked_lines.hpp", "runs/run_tokenizer.hpp",
                "settings.hpp", "tokenizer/"},
               {"boinc_app/albert/", "boinc_app/swav/", "boinc_app/tasks/", "boinc_app/training/",
                "boinc_app/inputs/shard_files.hpp", "peer/state/", "peer/formats/",
                "peer/platform/", "kernels/", "CLI/"}),
        // Fine-tunes models on tasks with labels.
        server("finetune/",
               {"backbone/", "huggingface/", "json/", "runs/model_import.hpp",
                "runs/run_tokenizer.hpp", "tokenizer/"},
               {"boinc_app/albert/", "boinc_app/training/", "peer/state/", "peer/formats/",
                "peer/platform/", "kernels/", "CLI/"}),
        posix_server("check/",
                     {"backbone/", "control/", "corpus/", "database/", "official/", "publishing/",
                      "run_sources.hpp", "settings.hpp", "ticket_key.hpp", "xml/"},
                     {"peer/formats/", "peer/platform/", "peer/net/gateway/http_request.hpp",
                      "config.h", "openssl/", "sched_util_basic.h"}),
        // A project as a whole: its folder, daemons and backups.
        posix_server(
            "project/",
            {"backbone/", "check/certificate.hpp", "database/", "handover.hpp", "json/",
             "publishing/", "settings.hpp", "ticket_key.hpp", "transfer/upload_limits.hpp",
             "url.hpp", "xml/"},
            {"peer/formats/", "peer/platform/", "archive.h", "archive_entry.h", "sodium.h"}),
        // A run that starts from a model needs the first values of a new run, too.
        server("runs/",
               {"accounts/lookup.hpp", "backbone/", "control/", "corpus/", "database/",
                "huggingface/", "json/", "project/", "run_sources.hpp", "settings.hpp",
                "signed_revocations.hpp", "ticket_key.hpp", "tokenizer/", "views/"},
               {"peer/state/run_state.hpp", "peer/formats/", "peer/wire/", "peer/platform/"}),
        posix_server("cli/",
                     {"accounts/", "backbone/", "check/", "control/", "corpus/", "daemon.hpp",
                      "database/", "json/", "official/", "packaging/", "pictures/", "project/",
                      "publishing/", "runs/", "scheduler/plan_class.hpp", "settings.hpp", "views/"},
                     {"peer/formats/", "peer/wire/", "peer/platform/", "CLI/"}),
        // Verdicts on what volunteers send, and the daemon that asks for them.
        {"validators/",
         joined({Names{"validators/", "project_server/backbone/uploaded_checkpoint.hpp",
                       "project_server/daemon.hpp", "project_server/database/",
                       "project_server/settings.hpp", "project_server/xml/job_documents.hpp",
                       "peer/formats/", "peer/platform/files.hpp", "peer/platform/stop_signals.hpp",
                       "peer/base/", "CLI/", "config.h", "sched_util_basic.h"},
                 kText}),
         {"random"},
         kNoChance},
    };
}

Layers test_layers() {
    return {
        // Tests see everything.
        {"tests/", {""}, {}, kNoChance},
        // Members that break the protocol on purpose.
        core("tests/hostile/", {"peer/events.hpp"}),
        // The world of peer/simulation with faults, hostile members and checkers.
        core("tests/simulation/",
             {"peer/simulation/", "peer/events.hpp", "peer/membership/quorum.hpp",
              "peer/round/codec.hpp", "peer/state/", "kernels/digest.hpp", "tests/hostile/"}),
    };
}

/// What only one source of the product does, so that everything else uses it.
Habit only_in(const std::string& home, const std::string& pattern, const std::string& sentence) {
    return {"^(?!(tests/|" + home + R"()).*\.(hpp|cpp|cu)$)", pattern, false, sentence};
}

}  // namespace

const std::vector<Layer>& layers() {
    static const Layers all =
        joined({ground_layers(), core_layers(), adapter_layers(), app_layers(), training_layers(),
                server_ground(), volunteer_layers(), operator_layers(), test_layers()});
    return all;
}

const std::vector<std::string>& system_headers() {
    return kSystem;
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
        only_in("peer/base/units", R"(duration<double>(\(.*\)|\{.*\})\.count\(\))",
                "time spans become seconds by seconds_of()"),
        only_in("peer/base/utc_text",
                R"(fmt/chrono\.h|\b(strftime|put_time|(gm|local)time\w*)\s*\()",
                "times become text by utc_text()"),
        only_in("peer/base/sha256", R"(\b(EVP_sha256|SHA256_\w+|crypto_hash_sha256\w*)\b)",
                "SHA-256 is class Sha256"),
        only_in("peer/base/bytes", R"(\bsodium_(bin2|base642|hex2)\w+|\bEVP_(En|De)code\w+)",
                "bytes become text by to_hex() and to_base64()"),
        only_in("peer/platform/descriptor|boinc_app/launcher",
                R"((^|[^\w>.:])::close\s*\(|\bpipe2?\()",
                "class Descriptor closes, and make_pipe() makes pipes"),
        only_in("peer/platform/networks|peer/net/tcp/flow_probe",
                R"(\bIN6_IS_ADDR_LOOPBACK\b|>> 24\)? == 127)",
                "addresses of this machine are told by is_loopback_host()"),
        only_in("project_server/url", R"(\bcurl_(url|easy_(un)?escape)\w*\s*\()",
                "URLs are parsed by parse_url(), %XX is that of peer/base/text"),
    };
    return all;
}

}  // namespace dedloc::tidy
