"""How fast an endpoint may be asked: as told, and as learnt from its answers.

It starts at the concurrency that it is given and learns from there:

- Most requests refused with 429 tell that the endpoint's allowance is used up (a few between many
  answers do not: they are sent again, and nothing is slowed). What was accepted between two 429s is
  the rate at which it fills again, so requests are paced to that from then on, and the pace grows
  by hundredths until the next one. While nothing at all is let through (the allowance is whole
  again at a fixed time) there is nothing to measure, and requests look whether it is, after waits
  that double. The requests in flight shrink by a fifth and grow by one for
  each round of answers. Where 429s come all the same, they do not depend on the pace, and it is
  given up.
- Headers that tell what is left of an allowance set the pace before there is any 429.
- A request that has no answer in time, while few others were answered, tells that the endpoint
  works them off one after another: so many go at once from then on as were answered in half the
  time, and more only while answers are that quick.
- Failures in a row, with no answer between, are an outage: one request at a time is let through to
  see whether it is over, after waits that double.

All rates are those of the whole key. Where several processes share it (`_shares`), each keeps to
its part of them, and what others were answered counts where the pace is measured.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rubricate.judge import Quota
from rubricate.rubric import Usage
from rubricate.run.sending._latency import Latencies
from rubricate.run.sending._options import Limits
from rubricate.run.sending._token_bucket import TokenBucket, planned_by, told

if TYPE_CHECKING:
    from rubricate.run.sending._shares import Report, Share

INFINITE = float("inf")
FIRST_BURST, FIRST_RATE, FIRST_MORE, FIRST_ANSWERS = 20, 300.0, 0.5, 64
"""How a run starts: so many requests at once, then so many a second, and such a share more for each
answer, until so many answers came. An endpoint with a low limit has refused by then, and few
requests were in vain."""
FIRST_WAVE, FIRST_RATE_MOST, FIRST_STEP = 80.0, 1600.0, 4.0
"""Where the first answer is quick, the rate of the start is higher: so many requests in the time
that it took, so many a second at most, and so many at once: a program that stands still for a
moment does not make up for it. The first refusal takes the rate back."""
FAILURES_IN_A_ROW = 5
"""Failures with no answer between that are taken for an outage."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 5.0
"""Seconds between two tries while there is an outage; they double from the first to the longest."""
GROWTH, GROWTH_A_SECOND, GROWTH_AT_FIRST = 0.0001, 0.02, 0.2
"""By what share of itself the pace grows with each answer, and in a second at least (the last
until it has been measured once); twice that after 500 more answers without a refusal, and so on."""
SHORT, FEW = 0.5, 16
"""Between two refusals so many seconds apart, or with so many answers, the rate is measured."""
LEAST_RATE = 0.1
"""Requests a second that are sent at least, however often the endpoint refuses."""
RECENT, MOST_REFUSED = 10, 6
"""Where so many of so many requests that were sent one after the other were refused, most are: the
wait that the endpoint asks for is for all, and there is a rate to be learnt. (Before so many were
sent, half of those that came back are enough. Refusals come back sooner than answers do.)"""
ANSWERED = 0.25
"""Where other processes are answered at such a share of their pace, refusals here are no sign that
nothing gets through."""
REFUSED_AGAIN = 25
"""Refusals are told of at once, but so often at most in the time for which a share is granted."""
STALE = 0.5
"""Seconds for which answers of other processes are reckoned on from what was heard last."""
WITHOUT_SHARE, OVERDUE = 0.05, 2.0
"""Seconds until somebody looks again whether a share has been heard of; and for which that is
waited for, from when others were told."""
USELESS_AFTER, USELESS_SHARE = 40, 0.05
"""The pace is given up where after so many answers more than this share is still refused, of the
requests that were sent since it was last learnt."""


class AdaptiveRate:
    """What is known of one endpoint: how many requests are in flight, and when one more may go.

    Attributes:
        latencies: how long answers take.
        silent_since: when the outage began (monotonic clock); None while there is none.
        asked_until: until when the endpoint has asked all to wait (monotonic clock); 0 if never.
    """

    def __init__(self) -> None:
        self.latencies = Latencies()
        self.silent_since: float | None = None
        self._runs: list[Limits] = []
        self._own_rates: tuple[float | None, float | None] = (None, None)
        self._most = 0
        self._descriptors = INFINITE  # requests that there are file descriptors for
        self._in_flight = 0
        self._paused_until = self.asked_until = 0.0
        self._refusals: deque[bool] = deque(maxlen=RECENT)
        self._refused_sent: deque[float] = deque(maxlen=MOST_REFUSED)
        self._sent: deque[float] = deque(maxlen=4 * RECENT)
        # Given, learnt and planned allowances of requests, and those of tokens.
        self._given: TokenBucket | None = None
        self._pace: TokenBucket | None = None
        self._planned: TokenBucket | None = None
        self._tokens: TokenBucket | None = None
        self._planned_tokens: TokenBucket | None = None
        self._reply_tokens = 100.0
        # What is learnt: the room for requests in flight, and from what.
        self._room = self._threshold = INFINITE
        self._started = False
        self._answers = 0
        self._last_cut = self._mark = time.monotonic()
        self._since_mark = self._since_cut = 0
        self._pace_answers = self._pace_refused = 0
        self._pace_again_at = 0
        self._measured = 0.0
        self._first_window: tuple[float, float] | None = None
        self._row = self._stuck = 0
        self._pause = FIRST_PAUSE
        self._quick = INFINITE  # seconds: slower answers give no more room
        # What is shared with other processes, and until when.
        self._share, self._share_ends = 1.0, INFINITE
        self._others = _Others()
        self._let, self._let_tokens = 0, 0.0  # since told
        self._told = _Told(time.monotonic())

    @property
    def is_joined(self) -> bool:
        """Whether a run asks this endpoint."""
        return bool(self._runs)

    def join(self, limits: Limits) -> None:
        """Take a run in: the highest concurrency and the lowest rates of all that run count."""
        self._runs.append(limits)
        self._agree()

    def leave(self, limits: Limits) -> None:
        """Let a run go."""
        self._runs.remove(limits)
        self._agree()

    def lacks_descriptors(self) -> None:
        """A request found no file descriptor: fewer may be in flight, for as long as runs last."""
        self._descriptors = min(self._descriptors, max(1.0, 0.9 * (self._in_flight - 1)))
        self._agree()

    def _agree(self) -> None:
        if not self._runs:
            self._descriptors = INFINITE
        most = 0
        requests: list[float] = []
        tokens: list[float] = []
        for run in self._runs:
            most = max(most, run.concurrency)
            requests += [run.requests_per_minute / 60.0] if run.requests_per_minute else ()
            tokens += [run.tokens_per_minute / 60.0] if run.tokens_per_minute else ()
        self._most = int(min(most, self._descriptors))
        self._own_rates = min(requests, default=None), min(tokens, default=None)
        self._given = self._part(told(self._given, requests + self._others.requests))
        self._tokens = self._part(told(self._tokens, tokens + self._others.tokens))
        if not self._started and self._pace is None:
            first = TokenBucket(FIRST_RATE, level=FIRST_BURST, size=FIRST_BURST)
            self._pace = self._part(first)

    def _part(self, bucket: TokenBucket | None) -> TokenBucket | None:
        """A bucket of the whole key's, of which this process has its part."""
        if bucket is not None and bucket.share != self._share:
            bucket.take(self._share)
        return bucket

    def tokens(self, characters: int) -> float:
        """About how many tokens a request of so many characters will take, with its reply."""
        return characters / 4 + self._reply_tokens

    @property
    def counts_tokens(self) -> bool:
        """Whether `wait` needs to know the tokens."""
        return self._tokens is not None or self._planned_tokens is not None

    @property
    def in_trouble(self) -> bool:
        """Whether the endpoint fails, or asks for a pause."""
        return self.silent_since is not None or self._paused_until > time.monotonic()

    @property
    def asked_to_wait(self) -> float:
        """Seconds for which nothing is let through because the endpoint has asked for it."""
        return max(0.0, self.asked_until - time.monotonic())

    def pause(self, seconds: float) -> None:
        """Let nothing through for so long."""
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)

    @property
    def has_places(self) -> bool:
        """Whether one more request could be in flight."""
        in_flight = self._in_flight
        return in_flight < self._most and in_flight < max(1.0, self._room) + self._stuck

    def wait(self, now: float, tokens: float) -> float:
        """Seconds until the next request may go.

        Infinite until one in flight is back. Where it has no share, or has it no more, nothing goes
        until one is heard of; where nobody answers, it keeps the one that it had.
        """
        if not self.has_places:
            return INFINITE
        if now >= self._share_ends:
            if not self._told.is_overdue(now):
                return WITHOUT_SHARE
            self.keeps_share()
        wait = self._paused_until - now if self._paused_until else 0.0
        for bucket in (self._given, self._pace, self._planned):
            if bucket is not None:
                wait = max(wait, bucket.wait(now, 1.0))
        if tokens:
            for bucket in (self._tokens, self._planned_tokens):
                if bucket is not None:
                    wait = max(wait, bucket.wait(now, tokens))
        return wait if wait > 0.0 else 0.0

    def let(self, tokens: float) -> None:
        """A request of about so many tokens is in flight."""
        self._in_flight += 1
        self._let += 1
        for bucket in (self._given, self._pace, self._planned):
            if bucket is not None:
                bucket.level -= 1.0
        if tokens:
            self._let_tokens += tokens
            for bucket in (self._tokens, self._planned_tokens):
                if bucket is not None:
                    bucket.level -= tokens

    def back(self) -> None:
        """A request is not in flight any more."""
        self._in_flight -= 1
        if self._stuck:
            self._stuck -= 1

    def sends(self, now: float) -> None:
        """A request is sent now."""
        self._sent.append(now)

    def accepted(self, sent: float, usage: Usage, expected: float = 0.0) -> None:
        """A request sent then was answered; `expected` tokens were reckoned with."""
        self.latencies.add(usage.seconds)
        self._refusals.append(False)
        self.is_alive()
        self._answers += 1
        self._since_cut += 1
        if sent >= self._mark:
            self._since_mark += 1
        elif self._first_window is not None and self._pace is not None:
            self._count_first(1)
        self._pace_answers += sent >= self._last_cut
        if not self._started and True not in self._refusals:
            if self._answers >= FIRST_ANSWERS:
                self._started, self._pace = True, None
            elif self._pace is not None:
                self._pace.level += FIRST_MORE
                if self._answers == 1:
                    self._pace.rate = max(FIRST_RATE, _first_rate(usage.seconds))
                    self._pace.size = FIRST_STEP
        if self._room < self._most and usage.seconds <= self._quick:
            self._room += 1.0 if self._room < self._threshold else 1.0 / self._room
        pace = self._pace
        if pace is not None and self._started:
            a_second = GROWTH_A_SECOND if self._measured else GROWTH_AT_FIRST
            share = max(GROWTH, a_second / pace.rate)
            pace.rate *= 1.0 + min(0.1, share * 2.0 ** min(20, self._since_cut // 500))
            pace.size = max(1.0, pace.rate)
        if expected:
            self._reply_tokens += 0.05 * (usage.output_tokens - self._reply_tokens)
            for bucket in (self._tokens, self._planned_tokens):
                if bucket is not None:
                    bucket.level -= usage.input_tokens + usage.output_tokens - expected

    def _count_first(self, more: int) -> None:
        """Count requests in that were sent before the first refusal and accepted after it.

        The first estimate was too low.
        """
        if self._first_window is not None and self._pace is not None:
            count, elapsed = self._first_window
            self._first_window = count + more, elapsed
            self._pace.rate = self._pace.size = max(1.0, 0.95 * max(FEW, count + more) / elapsed)

    def is_alive(self) -> None:
        """The endpoint answered, be it with an error: there is no outage."""
        self._row = self._stuck = 0
        self._pause = FIRST_PAUSE
        self.silent_since = None

    def refused(self, sent: float, wait: float | None) -> None:
        """A request sent then was refused for its rate (429); the endpoint asks to wait so long.

        Refusals between many answers concern the one request, and so does the wait; of the rate
        they say something only once a pace has been learnt, or where most requests are refused.
        """
        self._refusals.append(True)
        self._refused_sent.append(sent)
        self._told.was_refused = True
        if wait and self._mostly_refused and not self._others_are_answered:
            self.pause(wait)
            self.asked_until = max(self.asked_until, time.monotonic() + wait)
        if not self._started and self._pace is not None:
            self._pace.rate, self._pace.level = FIRST_RATE, min(0.0, self._pace.level)
        is_paced = self._started and self._pace is not None
        if not (is_paced or self._mostly_refused):
            return
        if sent < self._last_cut or self._answers < self._pace_again_at:
            return  # sent before what was learnt from the last one, or nothing can be learnt
        self._pace_refused += 1
        now = time.monotonic()
        self._room = self._threshold = max(1.0, 0.8 * self._in_flight)
        self._cut_pace(now)
        self._last_cut = now
        self._since_cut = 0

    @property
    def _mostly_refused(self) -> bool:
        if len(self._sent) < RECENT:
            return 2 * sum(self._refusals) >= len(self._refusals)
        first = min(self._refused_sent)
        since = sum(moment >= first for moment in self._sent)
        return len(self._refused_sent) == MOST_REFUSED and since <= RECENT

    @property
    def _others_are_answered(self) -> bool:
        """Whether other processes are answered about as often as the pace says."""
        pace = 2.0 if self._pace is None else self._pace.rate
        return self._others.rate > ANSWERED * pace * (1.0 - self._share)

    def _cut_pace(self, now: float) -> None:
        elapsed = max(0.0, now - self._mark)
        count = self._since_mark + self._others.since_mark(now)
        is_shut = count < 1.0
        count = max(1.0, count)
        first = not self._started or self._pace is None
        if not first:  # most of those on the way will be answered
            count += self._in_flight + self._others.in_flight - 1
        self._started = True
        if first or self._pace is None:
            elapsed = max(elapsed, 1.0)
            rate, self._first_window = max(FEW, count) / elapsed, (count, elapsed)
            self._measured = 0.0
        elif is_shut:  # nothing gets through, so there is nothing to measure
            self._pace.level = 0.0
            if self._mostly_refused and not self._others_are_answered:
                self.pause(self._pause)
                self._pause = min(2 * self._pause, LONGEST_PAUSE)
            return
        elif elapsed < SHORT and (count < FEW or self._others.count):
            # Its answers count with the next ones; others' are known a little later.
            self._pace.level = 0.0
            return
        elif self._measured == 0.0:
            rate = self._measured = count / elapsed
            self._first_window = None
            self._pace_answers = self._pace_refused = 0
        else:
            answered = self._pace_answers + self._pace_refused
            enough = USELESS_AFTER * min(4, 1 + self._others.count)  # others cause some of them
            if answered >= enough and self._pace_refused > USELESS_SHARE * answered:
                self._room = INFINITE
                self._give_pace_up()
                self._told.has_learnt = True
                return
            self._measured = max(self._measured, count / elapsed)
            rate = max(count / elapsed, 0.5 * self._measured)
        self._begin_pace(max(LEAST_RATE, 0.95 * rate), now)
        self._told.has_learnt = True

    def _begin_pace(self, rate: float, now: float) -> None:
        self._pace = self._part(TokenBucket(rate, level=0.0))
        self._mark, self._since_mark = now, 0
        if self._others.count:  # while all wait nothing is measured
            self._mark = max(now, self._paused_until)
        self._others.mark(now)

    def _give_pace_up(self) -> None:
        self._pace = None
        self._pace_again_at = self._answers + 10 * USELESS_AFTER

    def timed_out(self, sent: float, answered: int) -> None:
        """A request sent then had no answer in time; so many others were answered meanwhile."""
        now = time.monotonic()
        self._quick = min(self._quick, (now - sent) / 2)
        if sent >= self._last_cut and answered < 2 * min(self._in_flight, self._room):
            self._room = self._threshold = max(1.0, answered / 2)
            self._last_cut = now
            self._since_cut = 0

    def planned(self, quota: Quota) -> None:
        """Keep to what the endpoint's headers say is left, from half of the allowance on."""
        self._planned = self._part(planned_by(self._planned, quota.requests, self._in_flight))
        self._planned_tokens = self._part(planned_by(self._planned_tokens, quota.tokens, 0))

    def failed(self, sent: float, *, several: bool = True) -> None:
        """A request sent then got no answer, or an error of the endpoint's own.

        Only where `several` different prompts failed this may be an outage.
        """
        self._row += 1
        if self._row < FAILURES_IN_A_ROW or not several:
            return
        now = time.monotonic()
        if self.silent_since is None:
            self.silent_since = now
            self._threshold = min(self._room, self._most)
        elif sent < self._last_cut:
            return
        else:
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
        self._room = 1.0
        self._stuck = self._in_flight - 1  # sent before; they may take their time to fail
        self._last_cut = now
        self.pause(self._pause)

    # Sharing

    @property
    def is_busy(self) -> bool:
        """Whether requests are in flight, or were let through since it was told last."""
        return self._in_flight > 0 or self._let > 0

    @property
    def has_news(self) -> bool:
        """Whether a request was refused since others were told, and that was not just now."""
        return self._told.was_refused and time.monotonic() >= self._told.not_before

    @property
    def has_share(self) -> bool:
        """Whether it has its share, or shares with nobody."""
        return self._share_ends > 0.0

    def tells(self, now: float, *, waits: bool) -> Report:
        """What other processes are to know; `waits` where requests wait here.

        They know it when `hears` is called.
        """
        from rubricate.run.sending._shares import Pace, Report, wanted

        told, pace = self._told, self._pace if self._started else None
        elapsed = max(0.01, now - told.at)
        used = max(
            _used(self._let / elapsed, (self._given, self._pace, self._planned)),
            _used(self._let_tokens / elapsed, (self._tokens, self._planned_tokens)),
        )
        told.used += min(1.0, elapsed) * (used - told.used)
        rate = None if pace is None else pace.rate
        told.tells(now, self._answers)
        self._let, self._let_tokens = 0, 0.0
        return Report(
            wants=INFINITE if waits and self.has_places else wanted(told.used, self._others.count),
            accepted=self._answers - told.answers,
            in_flight=self._in_flight,
            requests=self._own_rates[0],
            tokens=self._own_rates[1],
            pace=Pace(rate, self._measured),
            growth=rate / told.rate if rate and told.rate else 1.0,
            has_learnt=told.tells_learnt,
            learnt=told.learnt,
            wait=self.asked_to_wait,
        )

    def hears(self, share: Share, now: float) -> None:
        """Take over what other processes have told."""
        told, others = self._told, self._others
        is_new = now >= self._share_ends
        others.hear(share, now, is_new=is_new)
        self._share, self._share_ends = share.part, now + share.seconds
        if share.wait > self.asked_to_wait:
            self.pause(share.wait)
            self.asked_until = now + share.wait
        if share.pace.rate is not None and not self._started:
            self._started, self._pace = True, None
        is_own = told.tells_learnt or told.has_learnt
        if share.learnt != told.learnt and not is_own:
            self._measured, self._first_window = share.pace.measured, None
            self._last_cut, self._since_cut = now, 0
            self._pace_answers = self._pace_refused = 0
            if share.pace.rate is None:
                self._give_pace_up()
            else:
                self._begin_pace(share.pace.rate, now)
        elif self._started and self._pace is not None and not told.has_learnt and share.pace.rate:
            self._pace.rate = share.pace.rate
            self._pace.size = max(1.0, share.pace.rate)
            if self._first_window is not None and now - self._mark < STALE:
                self._count_first(others.more)
        told.not_before = told.at + share.seconds / REFUSED_AGAIN
        self._since_cut += others.more
        told.heard(share.learnt, self._pace.rate if self._started and self._pace else None)
        self._agree()
        for bucket in self._buckets:
            self._part(bucket)
            if is_new and share.others:
                bucket.level = 0.0  # the others have used what it would have had

    def gives_back(self) -> None:
        """Let nothing through before it has heard of its share."""
        self._share_ends = 0.0

    def keeps_share(self) -> None:
        """Go on with the share as it is: there is nobody to tell it anything."""
        if not self.has_share:
            self._share = 1.0
        self._share_ends = INFINITE

    def shares_no_more(self) -> None:
        """Have all that the key allows, as one process alone."""
        self._share, self._share_ends, self._others = 1.0, INFINITE, _Others()
        self._agree()
        for bucket in self._buckets:
            self._part(bucket)

    @property
    def untold(self) -> int:
        """Requests that were accepted since it was told last."""
        return self._answers - self._told.answers

    @property
    def _buckets(self) -> list[TokenBucket]:
        buckets = (
            *(self._given, self._pace, self._planned),
            *(self._tokens, self._planned_tokens),
        )
        return [bucket for bucket in buckets if bucket is not None]


class _Others:
    """What is known of other processes that send to the endpoint with the same key.

    Attributes:
        count: how many there are.
        in_flight: how many requests of theirs are in flight.
        more: how many more were accepted than were known before.
        rate: how many are accepted, a second.
        requests, tokens: a second, the lowest that their users say; an empty list for none.
    """

    def __init__(self) -> None:
        self.count = self.in_flight = self.more = 0
        self.requests: list[float] = []
        self.tokens: list[float] = []
        self.rate = self._accepted = self._marked = 0.0
        self._at = time.monotonic()

    def hear(self, share: Share, now: float, *, is_new: bool) -> None:
        before = self._accepted
        if is_new:  # what is counted may have begun anew meanwhile
            self._marked += share.accepted - before
        self.more = max(0, round(share.accepted - before)) if not is_new else 0
        self.count, self.in_flight = share.others, share.in_flight
        self._accepted, self.rate, self._at = share.accepted, share.rate, now
        self.requests = [] if share.requests is None else [share.requests]
        self.tokens = [] if share.tokens is None else [share.tokens]

    def _by(self, now: float) -> float:
        return self._accepted + self.rate * min(STALE, now - self._at)

    def mark(self, now: float) -> None:
        """Count from here on."""
        self._marked = self._by(now)

    def since_mark(self, now: float) -> float:
        """How many requests of theirs were accepted since then, about."""
        return max(0.0, self._by(now) - self._marked)


class _Told:
    """What other processes know, from when.

    Attributes:
        at: when they were told last.
        answers: how many requests had been accepted.
        rate: the pace; None where there was none.
        used: the part of the key's allowances that is used, as of about the last second.
        learnt: how often the key's pace had been measured.
        has_learnt: whether it was measured here since.
        tells_learnt: whether that is being told.
        was_refused: whether a request was refused since.
        not_before: when that is told at the earliest.
    """

    def __init__(self, now: float) -> None:
        self.at = now
        self.answers = self._tells_answers = 0
        self.rate: float | None = None
        self.used = 0.0
        self.learnt = 0
        self.has_learnt = self.tells_learnt = self.was_refused = False
        self.not_before = now
        self._telling_since: float | None = None

    def is_overdue(self, now: float) -> bool:
        """Whether others should have answered long ago."""
        return self._telling_since is not None and now - self._telling_since > OVERDUE

    def tells(self, now: float, answers: int) -> None:
        self.at, self._tells_answers = now, answers
        self._telling_since, self.was_refused = now, False
        self.tells_learnt, self.has_learnt = self.tells_learnt or self.has_learnt, False

    def heard(self, learnt: int, rate: float | None) -> None:
        self.answers, self.learnt, self.rate = self._tells_answers, learnt, rate
        self.tells_learnt, self._telling_since = False, None


def _used(rate: float, buckets: Iterable[TokenBucket | None]) -> float:
    """The part of the smallest of these allowances that such a rate takes."""
    least = min((bucket.rate for bucket in buckets if bucket is not None), default=INFINITE)
    return rate / least


def _first_rate(seconds: float) -> float:
    """Requests a second in the start where the first answer took so long."""
    return min(FIRST_RATE_MOST, FIRST_WAVE / seconds) if seconds > 0 else FIRST_RATE_MOST
