#include "project_server/views/run_history.hpp"

#include <algorithm>

#include "peer/base/error.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::server {
namespace {

constexpr std::size_t kMaxPoints = 1'199;  ///< and the last step
constexpr std::size_t kRowsAtOnce = 20'000;

/// Bytes of one element in a codec: int8 has a scale of one byte for each block.
double element_bytes(Codec codec) {
    switch (codec) {
        case Codec::kFp32:
            return 4;
        case Codec::kFp16:
        case Codec::kBf16:
            return 2;
        case Codec::kInt8:
            return 1 + 1.0 / wire::kInt8BlockElements;
    }
    return 0;
}

/// Bytes of one vector of the run; 0 if its run file cannot be read.
double vector_bytes(Database& database, std::int64_t run) {
    const auto row = database.query_one("select spec from dedloc_run where id = ?", {run});
    if (!row) return 0;
    try {
        const auto file = formats::parse_run_file(row->text("spec"));
        return static_cast<double>(formats::element_count(file)) * element_bytes(file.codec);
    } catch (const InputError&) {
        return 0;
    }
}

}  // namespace

double computed_round_bytes(std::int64_t members, double vector_bytes) {
    return members > 1 ? 2 * static_cast<double>(members - 1) * vector_bytes : 0;
}

void RunHistories::add(History& history, const Row& row) {
    const double seconds = row.real("seconds");
    const std::int64_t samples = row.integer("samples");
    history.last = {
        .step = row.integer("step"),
        .loss = row.real("loss"),
        .samples_per_second = seconds > 0 ? static_cast<double>(samples) / seconds : 0,
        .members = row.integer("members"),
        .computed_bytes = computed_round_bytes(row.integer("members"), history.vector_bytes)};
    history.last_step = history.last.step;
    history.last_committed_at = row.real("committed_at");
    history.samples += samples;
    const auto is_point = [&](const CurvePoint& point) {
        return point.step == 1 || point.step % history.stride == 0;
    };
    if (is_point(history.last)) history.points.push_back(history.last);
    if (history.points.size() <= kMaxPoints) return;
    history.stride *= 2;
    std::erase_if(history.points, [&](const CurvePoint& point) { return !is_point(point); });
}

RunCurve RunHistories::read(Database& database, std::int64_t run) {
    const std::lock_guard lock{mutex_};
    History& history = histories_[run];
    if (history.last_step > 0) {
        const auto last =
            database.query_one("select committed_at from dedloc_step where runid = ? and step = ?",
                               {run, history.last_step});
        if (!last || last->real("committed_at") != history.last_committed_at) history = {};
    }
    if (history.vector_bytes < 0) history.vector_bytes = vector_bytes(database, run);
    for (std::size_t count = kRowsAtOnce; count == kRowsAtOnce;) {
        const Rows rows = database.query(
            "select step, samples, loss, members, seconds, committed_at from dedloc_step "
            "where runid = ? and step > ? order by step limit ?",
            {run, history.last_step, kRowsAtOnce});
        for (const Row& row : rows) add(history, row);
        count = rows.size();
    }
    RunCurve curve{.samples = history.samples, .points = history.points};
    if (history.last_step > 0 &&
        (curve.points.empty() || curve.points.back().step != history.last_step)) {
        curve.points.push_back(history.last);
    }
    return curve;
}

}  // namespace dedloc::server
