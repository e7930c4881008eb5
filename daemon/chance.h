// SPDX-License-Identifier: Apache-2.0
// Chance for timers: what keeps a fleet from doing the same at the same moment.
#pragma once

double pk_chance(void); // in [0, 1); any thread
