#include "project_server/official/daemons.hpp"

#include <algorithm>
#include <string>

#include "project_server/official/entries.hpp"
#include "project_server/official/xml_file.hpp"

namespace dedloc::official {

std::vector<server::RunningDaemon> own_daemons(const std::filesystem::path& project) {
    const XmlFile xml{project, kConfigFile, "boinc"};
    const auto running = server::daemons_in_turn(project);
    std::vector<server::RunningDaemon> daemons;
    for (const auto& entry : xml.text().children(kDaemonsPath)) {
        const auto disabled = entry.fields.find("disabled");
        const bool is_disabled =
            disabled != entry.fields.end() && disabled->second != "0" && !disabled->second.empty();
        if (!is_of_ours(entry) || is_disabled) continue;
        const std::string name = program_of(entry.field("cmd"));
        const auto found = std::ranges::find(running, name, &server::RunningDaemon::name);
        daemons.push_back(found == running.end() ? server::RunningDaemon{.name = name} : *found);
    }
    return daemons;
}

}  // namespace dedloc::official
