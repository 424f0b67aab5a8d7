// minimise T over w ≥ 0 with Σ w = 1 and, for each member, fixed + slope · w_i ≤ T · speed upwards
// and downwards; w_i = 0 for a member that cannot be dialled. Clp solves it by the dual simplex.
#include <Clp_C_Interface.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "tests/peer/planning/lp_reference.hpp"

namespace dedloc::planning {
namespace {

/// The rows as Clp wants them: one coefficient of T and one of w_i in every row, then Σ w = 1.
struct Rows {
    std::vector<double> time;
    std::vector<double> share;
    std::vector<double> upper;
};

/// Bytes count in whole contributions or averages, whichever is longer, and speeds in the fastest
/// one, so that the solver's tolerances mean the same for every fleet.
struct Units {
    double bytes = 1;
    double speed = 1;
};

Units units_of(const PlanRequest& request) {
    const VectorSize size = size_of(request);
    Units units{.bytes =
                    static_cast<double>(std::max(size.contribution_bytes, size.average_bytes))};
    for (const LinkSpeed& link : known_links(request)) {
        const Bandwidth faster = std::max(link.upload, link.download);
        units.speed = std::max(units.speed, static_cast<double>(faster.value()));
    }
    return units;
}

Rows rows_of(const PlanRequest& request, const Units& units) {
    const VectorSize size = size_of(request);
    const Traffic traffic = traffic_of(request);
    const std::vector<LinkSpeed> links = known_links(request);
    const double contribution = static_cast<double>(size.contribution_bytes) / units.bytes;
    const double average = static_cast<double>(size.average_bytes) / units.bytes;
    Rows rows;
    const auto add = [&](double fixed, double slope, Bandwidth speed) {
        rows.time.push_back(-static_cast<double>(speed.value()) / units.speed);
        rows.share.push_back(slope);
        rows.upper.push_back(-fixed);
    };
    for (std::size_t k = 0; k < links.size(); ++k) {
        const double x = request.members[k].contributes ? 1 : 0;
        const double y = request.members[k].receives ? 1 : 0;
        const double m = static_cast<double>(traffic.contributors);
        const double r = static_cast<double>(traffic.receivers);
        add(x * contribution, (r - y) * average - x * contribution, links[k].upload);
        add(y * average, (m - x) * contribution - y * average, links[k].download);
    }
    return rows;
}

}  // namespace

bool has_lp_solver() {
    return true;
}

std::optional<double> lp_optimum_seconds(const PlanRequest& request) {
    const Units units = units_of(request);
    Rows rows = rows_of(request, units);
    const int members = static_cast<int>(request.members.size());
    const int limits = 2 * members;
    std::vector<CoinBigIndex> starts{0};
    std::vector<int> index;
    std::vector<double> value;
    for (int row = 0; row < limits; ++row) {
        index.push_back(row);
        value.push_back(rows.time[static_cast<std::size_t>(row)]);
    }
    starts.push_back(limits);
    std::vector<double> upper{std::numeric_limits<double>::max()};
    for (int member = 0; member < members; ++member) {
        for (const int row : {2 * member, 2 * member + 1}) {
            index.push_back(row);
            value.push_back(rows.share[static_cast<std::size_t>(row)]);
        }
        index.push_back(limits);
        value.push_back(1);
        starts.push_back(static_cast<CoinBigIndex>(index.size()));
        upper.push_back(request.members[static_cast<std::size_t>(member)].is_reachable ? 1 : 0);
    }
    const std::vector<double> lower(upper.size(), 0);
    std::vector<double> objective(upper.size(), 0);
    objective[0] = 1;
    std::vector<double> row_lower(rows.upper.size(), -std::numeric_limits<double>::max());
    row_lower.push_back(1);
    rows.upper.push_back(1);
    const std::unique_ptr<Clp_Simplex, void (*)(Clp_Simplex*)> model{Clp_newModel(),
                                                                     Clp_deleteModel};
    Clp_setLogLevel(model.get(), 0);
    Clp_loadProblem(model.get(), members + 1, limits + 1, starts.data(), index.data(), value.data(),
                    lower.data(), upper.data(), objective.data(), row_lower.data(),
                    rows.upper.data());
    if (Clp_initialDualSolve(model.get()) != 0 || Clp_status(model.get()) != 0) return std::nullopt;
    return Clp_objectiveValue(model.get()) * units.bytes / units.speed;
}

}  // namespace dedloc::planning
