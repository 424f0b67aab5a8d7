#include "project_server/scheduler/measured_rates.hpp"

namespace dedloc::server {
namespace {

constexpr std::int64_t kMaxAge = 30 * 86'400;  ///< seconds
constexpr std::int64_t kMaxPresences = 64;     ///< the latest of them
constexpr std::int64_t kMinSeconds = 1'800;    ///< in which a plan class was measured

}  // namespace

void add_measured_rates(Batch& batch, std::int64_t host, std::int64_t now) {
    batch.add(
        "select p.plan_class, sum(p.samples * d.flops_per_sample) as operations, "
        "sum(p.ended - p.began) as seconds from (select runid, plan_class, samples, began, ended "
        "from dedloc_presence where hostid = ? and began > ? order by began desc limit ?) p "
        "join dedloc_run d on d.id = p.runid group by p.plan_class",
        {host, now - kMaxAge, kMaxPresences});
}

MeasuredRates measured_rates(const Rows& rows) {
    MeasuredRates rates;
    for (const Row& row : rows) {
        const std::int64_t seconds = row.integer("seconds");
        const double operations = row.real("operations");
        // Written so that NaN is no rate.
        if (seconds < kMinSeconds || !(operations > 0)) continue;
        rates[row.text("plan_class")] = operations / static_cast<double>(seconds);
    }
    return rates;
}

}  // namespace dedloc::server
