"""How fast an endpoint may be asked: within the user's limits, and as learnt from its answers.

It starts at the configured concurrency and adapts:

- If most requests are refused with 429, the endpoint's allowance is used up. (A few 429s among many
  answers mean nothing: those requests are retried and nothing slows down.) The number of requests
  accepted between two 429s is the rate at which the allowance refills, so requests are paced to it,
  and the pace grows by hundredths until the next 429. While nothing at all gets through (because
  the allowance resets at a fixed time), there is nothing to measure, so single requests probe after
  waits that double. The number in flight shrinks by a fifth and grows by one for each round of
  answers. If 429s continue regardless of the pace, the pace is dropped.
- Headers that state what is left of an allowance set the pace before there is any 429.
- A request that times out while few others were answered shows that the endpoint works through its
  queue one by one. From then on, as many go at once as were answered in half that time, and more
  only while answers stay that quick.
- Several failures in a row, with no answer in between, are an outage: one request at a time probes
  whether it is over, after waits that double.

All rates apply to the whole key. If several processes share it (`_shares`), each keeps to its own
part, and the answers that others got count when the pace is measured.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rubricate.judge import Quota
from rubricate.rubric import Usage
from rubricate.run.sending._concurrency import INFINITE, Concurrency, Outage
from rubricate.run.sending._latency import Latencies
from rubricate.run.sending._options import Limits
from rubricate.run.sending._pace import (
    FIRST_BURST,
    FIRST_RATE,
    Pace,
    Refusals,
    TokenBucket,
    planned_by,
)
from rubricate.run.sending._peers import NOBODY, STALE, KeyShare, Others, Reported

if TYPE_CHECKING:
    from rubricate.run.sending._shares import Report, Share

ANSWERED = 0.25
"""If other processes are answered at this share of their pace, refusals here do not mean that
nothing gets through. Not measured: at half, one process that is rarely answered keeps the others
from waiting; at double, an even share of four does not."""
REFUSED_AGAIN = 25
"""Refusals are reported at once, but at most this often during one lease of a share: 20 times a
second. Not measured: at half, other processes slow down later; at double, the store is used twice
as often while an endpoint refuses."""
WITHOUT_SHARE = 0.05
"""Seconds between checks for a granted share. Not measured: at half, a waiting process wakes twice
as often; at double, a run starts 0.05 s later."""


class AdaptiveRate:
    """The state of one endpoint, which decides when the next request may be sent.

    Args:
        starts_slowly: whether to pace the first requests until something is learnt.

    Attributes:
        latencies: how long answers take.
        concurrency: how many requests may be in flight.
        outage: whether the endpoint answers, and until when requests are held back.
        refusals: how often it refuses requests (429).
        pace: the rate that it accepts, as learnt.
        shared: this process's share of the key.
        counts_tokens: whether `wait` needs the number of tokens.
    """

    def __init__(self, *, starts_slowly: bool = True) -> None:
        self._starts_slowly = starts_slowly
        self.latencies = Latencies()
        self.concurrency = Concurrency()
        self.outage = Outage()
        self.refusals = Refusals()
        self.pace = Pace(time.monotonic())
        self.shared = KeyShare()
        self._runs: list[Limits] = []
        # The lowest rates that these allow, in requests and tokens a second.
        self._own_rates: tuple[float | None, float | None] = (None, None)
        self._descriptors = INFINITE  # requests that there are file descriptors for
        self._last_cut = self.pace.mark  # what was sent before says nothing new
        # Allowances that users set, and that headers tell of: of requests, and of tokens.
        self._allowed: TokenBucket | None = None
        self._planned: TokenBucket | None = None
        self._tokens: TokenBucket | None = None
        self._planned_tokens: TokenBucket | None = None
        self._reply_tokens = 100.0
        self.counts_tokens = False

    @property
    def is_joined(self) -> bool:
        """Whether any run uses this endpoint."""
        return bool(self._runs)

    def join(self, limits: Limits) -> None:
        """Add a run. The highest concurrency and the lowest rates of all current runs apply."""
        self._runs.append(limits)
        self._agree()

    def leave(self, limits: Limits) -> None:
        """Remove a run that has ended."""
        self._runs.remove(limits)
        if not self._runs:
            self._descriptors = INFINITE
        self._agree()

    def lacks_descriptors(self) -> None:
        """Lower the concurrency because a request found no file descriptor, until all runs end."""
        most = max(1.0, 0.9 * (self.concurrency.in_flight - 1))
        self._descriptors = min(self._descriptors, most)
        self._agree()

    def _agree(self) -> None:
        """Apply the limits of all runs and of other processes."""
        most, requests, tokens = 0, list[float](), list[float]()
        for run in self._runs:
            most = max(most, run.concurrency)
            requests += [run.requests_per_minute / 60.0] if run.requests_per_minute else ()
            tokens += [run.tokens_per_minute / 60.0] if run.tokens_per_minute else ()
        self.concurrency.most = int(min(most, self._descriptors))
        self._own_rates = min(requests, default=None), min(tokens, default=None)
        requests += self.shared.others.requests
        tokens += self.shared.others.tokens
        self._allowed = self._bucket_of(self._allowed, min(requests)) if requests else None
        self._tokens = self._bucket_of(self._tokens, min(tokens)) if tokens else None
        self.counts_tokens = self._tokens is not None or self._planned_tokens is not None
        if self._starts_slowly and not self.pace.is_learnt and self.pace.bucket is None:
            self.pace.bucket = TokenBucket(FIRST_RATE, level=FIRST_BURST, size=FIRST_BURST)
            if self.shared.part != 1.0:
                self._part(self.pace.bucket)

    def _bucket_of(self, bucket: TokenBucket | None, rate: float) -> TokenBucket | None:
        """The bucket for a rate: the present one if it already has that rate."""
        is_same = bucket is not None and bucket.rate == rate
        return self._part(bucket if is_same else TokenBucket(rate, level=max(1.0, rate)))

    def _part(self, bucket: TokenBucket | None) -> TokenBucket | None:
        """The same bucket, limited to this process's part of the key."""
        if bucket is not None and bucket.share != self.shared.part:
            bucket.take(self.shared.part)
        return bucket

    def tokens(self, characters: int) -> float:
        """Estimated tokens of a request of this many characters, reply included."""
        return characters / 4 + self._reply_tokens

    @property
    def in_trouble(self) -> bool:
        """Whether the endpoint fails, or asks for a pause."""
        outage = self.outage
        return outage.since is not None or outage.paused_until > time.monotonic()

    @property
    def asked_to_wait(self) -> float:
        """Seconds left of a pause that the endpoint asked for."""
        return max(0.0, self.outage.asked_until - time.monotonic())

    def wait(self, now: float, tokens: float) -> float:
        """Seconds until the next request may be sent.

        Infinite while all places are taken. Without a share, or after it has expired, nothing is
        sent until one is granted; if the store does not answer, the last share stays valid.
        """
        places, shared = self.concurrency, self.shared
        in_flight = places.in_flight
        if in_flight >= places.most or in_flight >= places.room + places.stuck:
            return INFINITE
        if now >= shared.ends:
            if shared.reported is not None and not shared.reported.is_overdue(now):
                return WITHOUT_SHARE
            self.keep_share()
        paused = self.outage.paused_until
        wait = paused - now if paused else 0.0
        for bucket in (self._allowed, self.pace.bucket, self._planned):
            if bucket is not None:
                wait = max(wait, bucket.wait(now, 1.0))
        if tokens:
            for bucket in (self._tokens, self._planned_tokens):
                if bucket is not None:
                    wait = max(wait, bucket.wait(now, tokens))
        return wait if wait > 0.0 else 0.0

    def admitted(self, tokens: float) -> None:
        """Note that a request of about this many tokens is in flight."""
        self.concurrency.in_flight += 1
        self.shared.admitted += 1
        for bucket in (self._allowed, self.pace.bucket, self._planned):
            if bucket is not None:
                bucket.level -= 1.0
        if tokens:
            self.shared.admitted_tokens += tokens
            self._take_tokens(tokens)

    def _take_tokens(self, tokens: float) -> None:
        for bucket in (self._tokens, self._planned_tokens):
            if bucket is not None:
                bucket.level -= tokens

    # Outcomes

    def accepted(self, sent: float, usage: Usage, expected: float = 0.0) -> None:
        """Note an answer to a request sent at `sent`, for which `expected` tokens were reserved."""
        self.latencies.add(usage.seconds)
        self.refusals.outcomes.append(False)
        if self.outage.is_noted:
            self.is_alive()
        self.pace.accepted(sent, usage.seconds, self.refusals, is_new=sent >= self._last_cut)
        places = self.concurrency
        if places.room < places.most and usage.seconds <= places.quick:
            places.room += 1.0 if places.room < places.threshold else 1.0 / places.room
        if expected:
            self._reply_tokens += 0.05 * (usage.output_tokens - self._reply_tokens)
            self._take_tokens(usage.input_tokens + usage.output_tokens - expected)

    def is_alive(self) -> None:
        """Note that the endpoint responded, even with an error: there is no outage."""
        self.concurrency.stuck = 0
        self.outage.ends()

    def refused(self, sent: float, wait: float | None) -> None:
        """Note a 429 for a request sent at `sent`; `wait` is the pause that the endpoint asks for.

        A refusal among many answers concerns that one request, and so does its pause. It says
        something about the rate only once a pace has been learnt or most requests are refused.
        """
        pace, now = self.pace, time.monotonic()
        self.refusals.add(sent)
        if self.shared.reported is not None:
            self.shared.reported.was_refused = True
        is_general = self.refusals.are_most
        if wait and is_general and not self._others_are_answered:
            self.outage.pause(now, wait)
            self.outage.asked_until = max(self.outage.asked_until, now + wait)
        if not pace.is_learnt and pace.bucket is not None:
            pace.bucket.rate, pace.bucket.level = FIRST_RATE, min(0.0, pace.bucket.level)
        if not (is_general or pace.learnt is not None):
            return
        if sent < self._last_cut or pace.is_useless:
            return  # sent before the last cut, or there is nothing to learn
        pace.refused()
        self.concurrency.cut(0.8 * self.concurrency.in_flight)
        self._cut_pace(now)
        self._last_cut = now
        pace.is_cut()

    @property
    def _others_are_answered(self) -> bool:
        """Whether other processes are answered about as often as the pace says."""
        shared, bucket = self.shared, self.pace.bucket
        rate = 2.0 if bucket is None else bucket.rate
        return shared.others.rate > ANSWERED * rate * (1.0 - shared.part)

    def _cut_pace(self, now: float) -> None:
        """Learn from a refusal."""
        pace, others, reported = self.pace, self.shared.others, self.shared.reported
        if pace.bucket is not None and pace.is_shut(now, others):
            pace.bucket.level = 0.0
            if self.refusals.are_most and not self._others_are_answered:
                self.outage.pause_longer(now)
            return
        rate = pace.rate_after(now, self.concurrency.in_flight, others)
        if rate is None:
            return
        if rate:
            self._begin_pace(rate, now)
        else:
            self.concurrency.room = INFINITE
            pace.give_up()
        if reported is not None:
            reported.has_learnt = True

    def _begin_pace(self, rate: float, now: float) -> None:
        others, bucket = self.shared.others, TokenBucket(rate, level=0.0)
        self._part(bucket)
        # While all wait, nothing is measured.
        self.pace.begin(bucket, max(now, self.outage.paused_until) if others.count else now)
        others.mark(now)

    def timed_out(self, sent: float, answered: int) -> None:
        """Note a timeout of a request sent at `sent`, while `answered` others got an answer."""
        now, concurrency = time.monotonic(), self.concurrency
        concurrency.quick = min(concurrency.quick, (now - sent) / 2)
        most = min(concurrency.in_flight, concurrency.room)
        if sent >= self._last_cut and answered < 2 * most:
            concurrency.cut(answered / 2)
            self._last_cut = now
            self.pace.is_cut()

    def planned(self, quota: Quota) -> None:
        """Pace requests to what the headers say is left, once half of the allowance is used."""
        in_flight = self.concurrency.in_flight
        self._planned = self._part(planned_by(self._planned, quota.requests, in_flight))
        self._planned_tokens = self._part(planned_by(self._planned_tokens, quota.tokens, 0))
        self.counts_tokens = self._tokens is not None or self._planned_tokens is not None

    def failed(self, sent: float, *, several: bool = True) -> None:
        """Note that a request sent at `sent` got no answer, or an error of the endpoint's own.

        It can be an outage only if `several` different prompts failed.
        """
        now, concurrency, outage = time.monotonic(), self.concurrency, self.outage
        begins = outage.since is None
        if not outage.failed(now, several=several, is_news=sent >= self._last_cut):
            return
        if begins:
            concurrency.threshold = min(concurrency.room, concurrency.most)
        concurrency.room = 1.0
        concurrency.stuck = concurrency.in_flight - 1
        self._last_cut = now

    # Sharing

    @property
    def is_busy(self) -> bool:
        """Whether requests are in flight, or were let through since the last report."""
        return self.concurrency.in_flight > 0 or self.shared.admitted > 0

    @property
    def has_news(self) -> bool:
        """Whether there is a refusal to report, and enough time since the last report."""
        reported = self.shared.reported
        return (
            reported is not None
            and reported.was_refused
            and time.monotonic() >= reported.not_before
        )

    @property
    def has_share(self) -> bool:
        """Whether a share is granted, or nothing is shared."""
        return self.shared.ends > 0.0

    def report(self, now: float, *, waits: bool) -> Report:
        """The report for other processes; `waits` says whether requests are waiting here.

        It counts as delivered when `apply` is called.
        """
        from rubricate.run.sending._shares import Pace as SharedPace
        from rubricate.run.sending._shares import Report, Traffic, wanted

        shared, bucket = self.shared, self.pace.learnt
        reported = self._reported(now)
        elapsed = max(0.01, now - reported.at)
        used = max(
            _used(shared.admitted / elapsed, (self._allowed, bucket, self._planned)),
            _used(shared.admitted_tokens / elapsed, (self._tokens, self._planned_tokens)),
        )
        reported.used += min(1.0, elapsed) * (used - reported.used)
        rate = None if bucket is None else bucket.rate
        reported.begin(now, self.pace.answers)
        shared.admitted, shared.admitted_tokens = 0, 0.0
        places = self.concurrency
        is_held_back = waits and places.in_flight < min(places.most, places.room + places.stuck)
        requests, tokens = self._own_rates
        return Report(
            wants=INFINITE if is_held_back else wanted(reported.used, shared.others.count),
            traffic=Traffic(
                accepted=self.pace.answers - reported.answers,
                in_flight=self.concurrency.in_flight,
                requests=requests,
                tokens=tokens,
                pace=SharedPace(rate, self.pace.measured),
                learnt=reported.learnt,
                wait=self.asked_to_wait,
            ),
            growth=rate / reported.rate if rate and reported.rate else 1.0,
            has_learnt=reported.reports_learnt,
        )

    def apply(self, share: Share, now: float) -> None:
        """Apply what other processes have reported."""
        traffic = share.traffic
        shared, pace, reported = self.shared, self.pace, self._reported(now)
        if shared.others is NOBODY:
            shared.others = Others()
        others = shared.others
        is_new = now >= shared.ends
        others.update(share, now, is_new=is_new)
        shared.part, shared.ends = share.part, now + share.seconds
        if traffic.wait > self.asked_to_wait:
            self.outage.pause(now, traffic.wait)
            self.outage.asked_until = now + traffic.wait
        if traffic.pace.rate is not None and not pace.is_learnt:
            pace.is_learnt, pace.bucket = True, None
        bucket = pace.learnt
        is_own = reported.reports_learnt or reported.has_learnt
        if traffic.learnt != reported.learnt and not is_own:
            pace.measured = traffic.pace.measured
            pace.forget_window()
            pace.is_cut()
            self._last_cut = now
            if traffic.pace.rate is None:
                pace.give_up()
            else:
                self._begin_pace(traffic.pace.rate, now)
        elif bucket is not None and not reported.has_learnt and traffic.pace.rate:
            bucket.rate = traffic.pace.rate
            bucket.size = max(1.0, traffic.pace.rate)
            if now - pace.mark < STALE:
                pace.count_first(others.more)
        reported.not_before = reported.at + share.seconds / REFUSED_AGAIN
        pace.others_accepted(others.more)
        reported.confirm(traffic.learnt, None if pace.learnt is None else pace.learnt.rate)
        self._agree()
        for bucket in self._buckets:
            self._part(bucket)
            if is_new and share.others:
                bucket.level = 0.0  # others have used up what this process would have had

    def _reported(self, now: float) -> Reported:
        reported = self.shared.reported
        if reported is None:
            reported = self.shared.reported = Reported(at=now, not_before=now)
        return reported

    def give_back(self) -> None:
        """Send nothing until a share is granted."""
        self._reported(time.monotonic())
        self.shared.ends = 0.0

    def keep_share(self) -> None:
        """Keep the current share, because the store does not answer."""
        if not self.has_share:
            self.shared.part = 1.0
        self.shared.ends = INFINITE

    def stop_sharing(self) -> None:
        """Use the whole allowance of the key, as a single process does."""
        self.shared.part, self.shared.ends, self.shared.others = 1.0, INFINITE, NOBODY
        self._agree()
        for bucket in self._buckets:
            self._part(bucket)

    @property
    def unreported(self) -> int:
        """Requests accepted since the last report."""
        reported = self.shared.reported
        return self.pace.answers - (0 if reported is None else reported.answers)

    @property
    def _buckets(self) -> list[TokenBucket]:
        buckets = (
            *(self._allowed, self.pace.bucket, self._planned),
            *(self._tokens, self._planned_tokens),
        )
        return [bucket for bucket in buckets if bucket is not None]


def _used(rate: float, buckets: Iterable[TokenBucket | None]) -> float:
    """The share of the smallest of these allowances that this rate uses."""
    least = min((bucket.rate for bucket in buckets if bucket is not None), default=INFINITE)
    return rate / least
