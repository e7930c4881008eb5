// SPDX-License-Identifier: Apache-2.0
// Steps with hysteresis: down soon, up late.
#include "daemon/health_policy.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/attr.h"
#include "base/checked.h"
#include "base/clock.h"
#include "daemon/text.h"

#define STEP_NS   (10 * PK_NS_PER_S) // between two steps back
#define CALM_NS   (30 * PK_NS_PER_S) // so long all is well before a step forward
#define WINDOW_NS (60 * PK_NS_PER_S) // over which over-current events are counted

// Average over-current and under-voltage are rare on a sound supply; the instantaneous counter of
// an Orin climbs under every burst and does not count.
#define EVENTS_PER_WINDOW 6

// The SoC slows down at margin 0; inference steps back before.
static const int margins_mc[PK_SHED_MAX_LEVEL] = {5000, 2000, 0};
#define HOLD_MARGIN_MC 8000
#define CALM_MARGIN_MC 3000 // further than the step's own margin before it is taken back

#define SLOW_FROM 0.2
#define SLOW_NS   (10 * PK_NS_PER_S)

static int level_of_heat(int margin_mc, int slack_mc)
{
	int level = 0;
	for (int i = 0; i < PK_SHED_MAX_LEVEL; i++)
		level = margin_mc < margins_mc[i] + slack_mc ? i + 1 : level;
	return level;
}

static void count_events(struct pk_health_policy *policy, const struct pk_health_input *input)
{
	const struct pk_health *health = input->health;
	int64_t events =
		PK_MAX(health->oc_events[0], INT64_C(0)) + PK_MAX(health->oc_events[1], INT64_C(0));
	if (policy->window_ns == 0 || events < policy->events_at_window) {
		policy->window_ns = input->now_ns;
		policy->events_at_window = events;
		policy->throttles_before = health->n_throttles;
	}
	if (events - policy->events_at_window >= EVENTS_PER_WINDOW)
		policy->over_current = true;
	if (health->n_throttles > policy->throttles_before)
		policy->throttled = true;
	if (input->now_ns - policy->window_ns < WINDOW_NS)
		return;
	policy->over_current = events - policy->events_at_window >= EVENTS_PER_WINDOW;
	policy->throttled = health->n_throttles > policy->throttles_before;
	policy->window_ns = input->now_ns;
	policy->events_at_window = events;
	policy->throttles_before = health->n_throttles;
}

static void write_heat(const struct pk_health_zone *zone, int margin_mc, char out[96])
{
	pk_text_format(out, 96, "%s at %d \u00b0C, slows down at %d \u00b0C", zone->name,
		zone->temp_mc / 1000, (zone->temp_mc + margin_mc) / 1000);
}

// Level that the readings ask for; slack as above.
static int wanted_level(const struct pk_health_policy *policy, const struct pk_health *health,
	int slack_mc, char cause[96])
{
	int margin_mc;
	const struct pk_health_zone *zone = pk_health_hottest(health, &margin_mc);
	int level = zone ? level_of_heat(margin_mc, slack_mc) : 0;
	cause[0] = '\0';
	if (level > 0)
		write_heat(zone, margin_mc, cause);
	if (level == 0 && policy->over_current) {
		level = 1;
		pk_text_format(cause, 96, "over-current");
	}
	return level;
}

static void step_level(struct pk_health_policy *policy, const struct pk_health_settings *settings,
	const struct pk_health_input *input)
{
	char cause[96], unused[96];
	int wanted = wanted_level(policy, input->health, 0, cause);
	int calm = wanted_level(policy, input->health, CALM_MARGIN_MC, unused);
	policy->heat = strstr(cause, "\u00b0C") != NULL;
	if (!settings->shed)
		wanted = calm = 0;
	if (calm >= policy->level && policy->level > 0)
		policy->calm_ns = input->now_ns;
	if (wanted > policy->level &&
		(policy->level == 0 || input->now_ns - policy->level_ns >= STEP_NS)) {
		policy->level++;
		policy->level_ns = policy->calm_ns = input->now_ns;
	} else if (policy->level > 0 &&
		   (!settings->shed || input->now_ns - policy->calm_ns >= CALM_NS)) {
		policy->level--;
		policy->level_ns = policy->calm_ns = input->now_ns;
	}
	if (policy->level == 0)
		policy->cause[0] = '\0';
	else if (cause[0])
		memcpy(policy->cause, cause, sizeof(policy->cause));
}

static void step_builds(struct pk_health_policy *policy, const struct pk_health_settings *settings,
	const struct pk_health *health)
{
	int margin_mc;
	const struct pk_health_zone *zone = pk_health_hottest(health, &margin_mc);
	int slack_mc = policy->hold_builds ? CALM_MARGIN_MC : 0;
	double limit = settings->pressure_limit * (policy->hold_builds ? 0.5 : 1);
	char cause[96] = "";
	if (zone && margin_mc < HOLD_MARGIN_MC + slack_mc)
		write_heat(zone, margin_mc, cause);
	else if (policy->over_current)
		pk_text_format(cause, sizeof(cause), "over-current");
	else if (limit > 0 && health->memory_pressure >= limit)
		pk_text_format(
			cause, sizeof(cause), "memory pressure %.0f %%", health->memory_pressure);
	policy->hold_builds = cause[0] != '\0';
	memcpy(policy->hold_cause, cause, sizeof(cause));
}

static const char *slow_reason(const struct pk_health_policy *policy, bool building)
{
	return policy->over_current ? "over-current"
	       : policy->heat       ? "heat"
	       : policy->throttled  ? "heat (the processor slowed down)"
	       : building           ? "an engine is being built"
				    : "load";
}

static void step_slow(struct pk_health_policy *policy, const struct pk_health_input *input)
{
	if (input->slowdown < SLOW_FROM) {
		policy->slow = false;
		policy->slow_ns = 0;
		policy->slow_text[0] = '\0';
		return;
	}
	if (policy->slow_ns == 0) {
		policy->slow_ns = input->now_ns;
		policy->slow_realtime_ns = input->realtime_ns;
	}
	if (!policy->slow && input->now_ns - policy->slow_ns < SLOW_NS)
		return;
	policy->slow = true;
	time_t seconds = (time_t)(policy->slow_realtime_ns / PK_NS_PER_S);
	struct tm tm;
	char since[16] = "?";
	if (localtime_r(&seconds, &tm))
		strftime(since, sizeof(since), "%H:%M", &tm);
	pk_text_format(policy->slow_text, sizeof(policy->slow_text), "%.0f %% slower since %s: %s",
		input->slowdown * 100, since, slow_reason(policy, input->building));
}

bool pk_health_policy_step(struct pk_health_policy *policy,
	const struct pk_health_settings *settings, const struct pk_health_input *input)
{
	int level = policy->level;
	bool held = policy->hold_builds, slow = policy->slow;
	count_events(policy, input);
	step_level(policy, settings, input);
	step_builds(policy, settings, input->health);
	step_slow(policy, input);
	return level != policy->level || held != policy->hold_builds || slow != policy->slow;
}

double pk_shed_factor(int level, size_t class_idx, size_t n_classes)
{
	// The highest of several keeps its rate until the last level.
	bool spared = n_classes > 1 && class_idx + 1 == n_classes && level < PK_SHED_MAX_LEVEL;
	int steps = level - (int)PK_MIN(class_idx, (size_t)PK_SHED_MAX_LEVEL);
	if (n_classes > 1 && class_idx + 1 == n_classes && level == PK_SHED_MAX_LEVEL)
		steps = PK_MAX(steps, 1);
	return spared || steps <= 0 ? 1 : 1.0 / (double)(1 << PK_MIN(steps, PK_SHED_MAX_LEVEL));
}
