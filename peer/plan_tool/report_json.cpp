// Writes the report as JSON. Programs read the keys: do not rename them. Members appear in the
// order of the fleet file.
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include "peer/formats/json_puts.hpp"
#include "peer/plan_tool/report.hpp"

namespace dedloc::plan {
namespace {

using formats::put;
using Writer = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

void put_peers(Writer& json, const Fleet& fleet, const Report& report) {
    const double chunks = planning::size_of(fleet.training.round).chunks;
    json.Key("peers");
    json.StartArray();
    for (std::size_t k = 0; k < fleet.names.size(); ++k) {
        const planning::MemberLoad& load = report.plan.forecast.loads[k];
        json.StartObject();
        put(json, "name", fleet.names[k]);
        put(json, "upload_bytes_per_second", load.link.upload.value());
        put(json, "download_bytes_per_second", load.link.download.value());
        put(json, "share", load.chunks / chunks);
        put(json, "chunks", std::uint64_t{load.chunks});
        put(json, "sent_bytes", load.sent.value());
        put(json, "received_bytes", load.received.value());
        put(json, "sending_seconds", seconds_of(load.sending));
        put(json, "receiving_seconds", seconds_of(load.receiving));
        put(json, "limit", std::string{name_of(load.limit)});
        json.EndObject();
    }
    json.EndArray();
}

void put_ranges(Writer& json, const Fleet& fleet, const Report& report) {
    json.Key("ranges");
    json.StartArray();
    for (const planning::ChunkRange& range : report.plan.ranges) {
        json.StartObject();
        put(json, "peer", fleet.names[range.member.value()]);
        put(json, "first_chunk", std::uint64_t{range.first_chunk});
        put(json, "last_chunk", std::uint64_t{range.last_chunk});
        json.EndObject();
    }
    json.EndArray();
}

void put_training(Writer& json, const Fleet& fleet, const TrainingAdvice& training) {
    json.Key("training");
    json.StartObject();
    put(json, "target_batch", fleet.training.target_batch);
    put(json, "step_seconds", training.pace.step_seconds());
    put(json, "computing_seconds", training.pace.computing_seconds);
    put(json, "round_seconds", training.pace.round_seconds);
    put(json, "target_batch_for_90_percent_computing", training.batch_for_90_percent);
    json.Key("should_not_compute");
    json.StartArray();
    for (const PeerIndex k : training.choice.dropped) json.String(fleet.names[k.value()].c_str());
    json.EndArray();
    put(json, "step_seconds_without_them", training.choice.pace.step_seconds());
    const planning::TurnChoice& chosen = training.turns;
    put(json, "samples_per_second_all_in_every_round", chosen.all.samples_per_second);
    put(json, "samples_per_second_chosen", chosen.chosen.samples_per_second);
    json.Key("turns");
    json.StartArray();
    for (std::size_t k = 0; k < chosen.turns.size(); ++k) {
        if (chosen.turns[k].kind == TurnKind::kEveryRound) continue;
        json.StartObject();
        put(json, "peer", fleet.names[k]);
        put(json, "turn", std::string{name_of(chosen.turns[k].kind)});
        put(json, "every", std::uint64_t{chosen.turns[k].every});
        json.EndObject();
    }
    json.EndArray();
    json.EndObject();
}

void put_simulated(Writer& json, const Report::Simulated& simulated) {
    const SimulatedRound& round = simulated.played.rounds.front();
    json.Key("simulated");
    json.StartObject();
    put(json, "optimum_seconds", seconds_of(simulated.played.plan.optimum));
    put(json, "planned_seconds", seconds_of(round.planned));
    put(json, "moved_seconds", seconds_of(round.moved));
    put(json, "committed_seconds", seconds_of(round.committed));
    put(json, "equal_shares_seconds", seconds_of(simulated.equal.forecast.transfer));
    put(json, "parameter_server_seconds", seconds_of(simulated.server.forecast.transfer));
    json.EndObject();
}

}  // namespace

std::string json_of(const Fleet& fleet, const Report& report) {
    const planning::PlanRequest& round = fleet.training.round;
    const planning::VectorSize size = planning::size_of(round);
    rapidjson::StringBuffer buffer;
    Writer json{buffer};
    json.StartObject();
    put(json, "elements", round.elements);
    put(json, "chunk_elements", std::uint64_t{round.chunk_elements});
    put(json, "chunks", std::uint64_t{size.chunks});
    put(json, "contribution_bytes", size.contribution_bytes);
    put(json, "average_bytes", size.average_bytes);
    put(json, "optimum_seconds", seconds_of(report.plan.optimum));
    put(json, "transfer_seconds", seconds_of(report.plan.forecast.transfer));
    put(json, "round_seconds", seconds_of(report.plan.forecast.round));
    put(json, "equal_shares_seconds", seconds_of(report.equal.forecast.transfer));
    put(json, "parameter_server", server_of(fleet, report));
    put(json, "parameter_server_seconds", seconds_of(report.server.forecast.transfer));
    put_peers(json, fleet, report);
    put_ranges(json, fleet, report);
    json.Key("with_another_aggregator");
    json.StartArray();
    for (const AggregatorAdvice& advice : report.aggregators) {
        json.StartObject();
        put(json, "mbit", advice.mbit);
        put(json, "optimum_seconds", seconds_of(advice.optimum));
        json.EndObject();
    }
    json.EndArray();
    if (report.training) put_training(json, fleet, *report.training);
    if (report.simulated) put_simulated(json, *report.simulated);
    json.EndObject();
    return std::string{buffer.GetString(), buffer.GetSize()} + "\n";
}

}  // namespace dedloc::plan
