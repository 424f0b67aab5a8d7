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

const Names kSystem{"sys/",     "arpa/",     "netinet/", "net/",      "netdb.h",   "fcntl.h",
                    "unistd.h", "pthread.h", "signal.h", "stdlib.h",  "pwd.h",     "poll.h",
                    "sched.h",  "spawn.h",   "time.h",   "linux/",    "grp.h",     "dlfcn.h",
                    "link.h",   "elf.h",     "glob.h",   "termios.h", "ifaddrs.h", "malloc.h"};
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

Layers protocol_layers() {
    const Bans pure = joined({kNoClock, kNoChance, kNoThreads, kNoAdapters});
    return {
        // Numbers: nothing of the repository, nothing that rounds differently elsewhere.
        {"kernels/", kNumbers, kNoThreadHeaders, joined({kNoClock, kNoChance, kNoThreads, kExact})},
        {"kernels/thread_workers.", {"kernels/"}, {"random"}, joined({kNoClock, kNoChance})},
        // The ground floor. Its log is the one place that knows spdlog.
        {"peer/base/", joined({Names{"peer/base/", "sodium.h", "spdlog/"}, kText}),
         kNoThreadHeaders, pure},
        {"peer/wire/",
         joined({Names{"peer/wire/", "peer/base/", "flatbuffers/", "messages_generated.h",
                       "receipt_generated.h"},
                 kJson, kText}),
         kNoThreadHeaders, pure},
        // The core: state machines that are told the time and what happened.
        {"peer/",
         joined({Names{"peer/peer.hpp", "peer/core.hpp", "peer/events.hpp", "peer/trainer.hpp",
                       "peer/run_config.hpp", "peer/base/", "peer/wire/", "peer/membership/",
                       "peer/planning/", "peer/round/", "peer/state/", "peer/progress/",
                       "peer/ledger/", "kernels/"},
                 kText}),
         kNoThreadHeaders, pure},
        // What a member may do that does not keep to the protocol: it stands outside the core.
        {"peer/hostile/",
         {"peer/hostile/", "peer/base/", "peer/wire/", "peer/events.hpp"},
         kNoThreadHeaders,
         pure},
        // A driver of the core in virtual time.
        {"peer/simulation/", joined({Names{"peer/", "kernels/"}, kText}), kNoThreadHeaders, pure},
        // The adapters of the core to a real network.
        {"peer/net/",
         joined({Names{"peer/", "kernels/", "libtorrent/", "curl/", "sodium.h", "boost/"}, kSystem,
                 kText}),
         {"random"},
         kNoChance},
        // A headless peer, for tests and trouble-shooting.
        {"peer/tool/",
         joined({Names{"peer/", "kernels/", "CLI/", "sodium.h"}, kSystem, kText}),
         {"random"},
         kNoChance},
    };
}

Layers project_layers() {
    return {
        // The app, and inside it the one folder that knows torch.
        {"boinc_app/",
         joined({Names{"boinc_app/", "peer/", "kernels/", "CLI/", "sodium.h"}, kBoincApp, kSystem,
                 kJson, kText}),
         {"random"},
         kNoChance},
        {"boinc_app/training/",
         joined({Names{"boinc_app/", "peer/", "kernels/", "torch/", "ATen/", "c10/"}, kText}),
         {"random"},
         kNoChance},
        // Verdicts on what volunteers send, and the daemon that asks for them.
        {"validators/",
         joined({Names{"validators/", "kernels/", "peer/wire/", "peer/base/", "CLI/",
                       "project_server/daemon.hpp", "project_server/database/",
                       "project_server/settings.hpp", "mysql.h"},
                 kBoincServer, kSystem, kText}),
         {"random"},
         kNoChance},
        {"project_server/",
         joined({Names{"project_server/", "validators/", "peer/wire/", "peer/base/",
                       "peer/net/descriptors.hpp", "CLI/", "sodium.h", "mysql.h", "mysqld_error.h",
                       "httplib.h", "openssl/", "curl/", "sentencepiece_"},
                 kBoincServer, kSystem, kJson, kText}),
         {"random"},
         kNoChance},
        // The planner's program.
        {"project_server/plan/",
         joined({Names{"project_server/plan/", "peer/planning/", "peer/simulation/", "peer/wire/",
                       "peer/base/", "CLI/"},
                 kJson, kText}),
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
    static const Layers all = joined({protocol_layers(), project_layers()});
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
