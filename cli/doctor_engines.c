// SPDX-License-Identifier: Apache-2.0
// Which engines an upgrade of drivers, libraries or Picket makes useless, and what serves
// meanwhile.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/doctor.h"
#include "cli/print.h"
#include "engine/engine.h"

// An engine knows the drivers and libraries that it was made for; this machine says whether it
// still takes it.
static void check_engine(struct pk_doctor *doctor, const char *check, const json_t *engine)
{
	pk_auto(pk_engine) loaded = NULL;
	enum pk_mismatch mismatch = PK_MATCH;
	struct pk_err err = {0};
	const char *path = pk_json_text(engine, "path");
	int r = pk_engine_load(path, NULL, &loaded, &mismatch, &err);
	if (r < 0) {
		pk_doctor_add(doctor, check, PK_VERDICT_WARNING,
			"nothing: the untuned engine serves until it is there",
			"will be built anew (%s: %s)", pk_mismatch_name(mismatch),
			pk_err_text(&err, r));
		return;
	}
	const char *runtime = pk_engine_info(loaded)->runtime;
	bool cpu = strcmp(runtime, "cpu") == 0;
	pk_doctor_add(doctor, check, PK_VERDICT_OK, "",
		cpu ? "stays: an engine for %s depends on the processor and on Picket alone"
		    : "stays now; an engine for %s is built anew after an upgrade of driver or "
		      "libraries (JetPack)",
		runtime);
}

void pk_doctor_engines(struct pk_doctor *doctor)
{
	size_t i;
	json_t *model;
	json_array_foreach (json_object_get(doctor->status, "models"), i, model) {
		char check[96];
		const json_t *engine = json_object_get(model, "engine");
		snprintf(check, sizeof(check), "engine of %.64s", pk_json_text(model, "name"));
		if (json_is_object(engine))
			check_engine(doctor, check, engine);
		else
			pk_doctor_add(doctor, check, PK_VERDICT_WARNING, "", "none serves now");
	}
}
