"""The learning parts, compiled: lost motion, friction, stiffness, weights, contact.

Each kernel changes the arrays of the state in place. All arrays are (n,) unless stated otherwise, in the units of the
caller.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.compilation import compiled


@compiled
def lost_motion(  # type: ignore[no-untyped-def]
    theta, load, width, unknown, per_load, rates, before, place, spread, loads, known, step, found
):
    """`LostMotion.update` after its first sample: θ, load and 𝓑 of this one, θ `before`; unknown: two deviations of 𝓑.

    per_load (k, n): 1/τ_i. rates: followed per sample by each of the loads (m, n), kept of the spread and of the step.
    known: bool. found (3, n): motion, slack, uncertainty; the motion is that of the last sample before.
    """
    follow, keep, keep_step = rates
    parts = len(per_load)
    for j in range(len(theta)):
        if width[j] > 0.0:
            place[j] += (theta[j] - before[j]) / width[j]
        place[j] = min(max(place[j], -1.0), 1.0)
        if abs(place[j]) >= 1.0 or width[j] <= 0.0:
            known[j] = True
        before[j] = theta[j]
        lowest, highest, second = np.inf, -np.inf, 0.0
        for m in range(len(loads) + 1):
            if m > 0:
                loads[m - 1, j] += follow[m - 1, 0] * (load[j] - loads[m - 1, j])
            of_load = load[j] if m == 0 else loads[m - 1, j]
            left = 0.0
            for i in range(parts):
                ratio = of_load * per_load[i, j]
                left += 1.0 / (1.0 + ratio * ratio)
            left /= parts
            lowest, highest = min(lowest, left), max(highest, left)
            if m == 1:
                second = left
        spread[j] = max(highest - lowest, keep * spread[j])
        slack = second * width[j]
        motion = slack * place[j]
        step[j] = max(abs(motion - found[0, j]), keep_step * step[j])
        found[0, j], found[1, j] = motion, slack
        found[2, j] = (spread[j] if known[j] else 1.0) * width[j] + highest * unknown[j] + step[j]


@compiled
def friction_step(  # type: ignore[no-untyped-def]
    measure, coulomb, omega, allowed, due, numbers, fixed, alpha, means, seen, still, gains, informative, adapted,
    flags, error,
):  # fmt: skip
    """`FrictionEstimator.update`: f, F(τ_J) H and ω of this sample.

    due: whether the gains follow the means now. numbers: omega_min, hold, length, enough, information, largest error
    that is believed. fixed (4, 2, n): lower and upper bounds, period times rate, floor. alpha (n, 2), means (4, n),
    gains (2, n): the state. flags (2, n): moving, adapting; error: of the prediction before.
    """
    omega_min, hold, length, enough, information, largest = numbers
    for j in range(len(error)):
        f, Y1, Y2 = measure[j], coulomb[j], omega[j]
        wrong = f - alpha[j, 0] * Y1
        wrong -= alpha[j, 1] * Y2
        sane = abs(wrong) < largest and np.isfinite(Y1 + Y2)
        if not sane:
            Y1, Y2, wrong = 0.0, 0.0, 0.0
        error[j] = wrong
        still[j] = 0 if abs(Y2) >= omega_min else still[j] + 1
        moving = sane and allowed[j] and still[j] <= hold
        flags[0, j] = moving
        if moving:
            seen[j] += 1.0
        share = (1.0 if moving else 0.0) / min(max(seen[j], 1.0), length)
        means[0, j] += (Y1 * Y1 - means[0, j]) * share
        means[1, j] += (Y2 * Y2 - means[1, j]) * share
        means[2, j] += (Y1 * Y2 - means[2, j]) * share
        means[3, j] += (wrong * wrong - means[3, j]) * share
        if due:
            first, second = means[0, j], means[1, j]
            gains[0, j] = fixed[2, 0, j] / np.maximum(first, fixed[3, 0, j])
            gains[1, j] = fixed[2, 1, j] / np.maximum(second, fixed[3, 1, j])
            correlation = abs(means[2, j]) / np.sqrt(np.maximum(first * second, 1e-300))
            informative[j] = seen[j] >= enough and 1.0 - correlation >= information and first > 0.0 and second > 0.0
        active = moving and informative[j]
        flags[1, j] = active
        g1, g2 = gains[0, j] * Y1, gains[1, j] * Y2
        push = (wrong if active else 0.0) / (1.0 + g1 * Y1 + g2 * Y2)
        alpha[j, 0] = min(max(alpha[j, 0] + g1 * push, fixed[0, 0, j]), fixed[1, 0, j])
        alpha[j, 1] = min(max(alpha[j, 1] + g2 * push, fixed[0, 1, j]), fixed[1, 1, j])
        if active:
            adapted[j] += 1.0


@compiled
def novelty(phi, numbers, fixed, anchor, still, fresh):  # type: ignore[no-untyped-def]
    """Write into `fresh` which joints' deformation has changed within the last `hold` samples.

    numbers: hold, samples since the last look. fixed (5, n): gate, top, 1/φ_ref, novelty, floor.
    """
    hold, stride = numbers
    for j in range(len(phi)):
        sane = abs(phi[j]) < fixed[1, j]
        moved = sane and abs(phi[j] - anchor[j]) >= fixed[3, j]
        if moved:
            anchor[j] = phi[j]
        still[j] = 0 if moved else still[j] + stride
        fresh[j] = still[j] <= hold


@compiled
def jumps(numbers, floor, sums, memory, jumped):  # type: ignore[no-untyped-def]
    """Update the levels of a `JumpDetector` with the samples since the last evaluation; write where the error `jumped`.

    numbers: period, window, share. floor (n,). sums (3, n): emptied. memory: seen, excitation, short, level, usual,
    long. Return whether any joint has jumped.
    """
    period, window, change_share = numbers
    seen, excitation, short, level, usual, long = memory
    found = False
    for j in range(len(floor)):
        samples, squares, torque = sums[0, j], sums[1, j], sums[2, j]
        sums[0, j] = sums[1, j] = sums[2, j] = 0.0
        seen[j] += samples
        excitation[j] += period * samples
        count = max(seen[j], 1.0)
        share = 1.0 / min(count, window)
        short[j] += share * (squares - samples * short[j])
        level[j] += share * (torque - samples * level[j])
        # The usual level never learns from a jump: what one sample can add to it is bounded.
        slow = min(samples / min(count, 20.0 * window), 1.0)
        usual[j] += slow * (level[j] - usual[j])
        long[j] += slow * (min(max(short[j], floor[j]), 2.0 * long[j]) - long[j])
        # Where little torque is transmitted, that of a friction not yet learnt is a large share of it, and no jump.
        jumped[j] = (
            change_share < np.inf
            and samples > 0.0
            and seen[j] >= window
            and short[j] > max(change_share * change_share * max(level[j], usual[j]), 9.0 * long[j])
        )
        found = found or jumped[j]
    return found


@compiled
def stiffness_step(  # type: ignore[no-untyped-def]
    phi, y, excited, fresh, fixed, numbers, state, sums, active, error, quality, keep, reliable, in_force, square_error
):  # fmt: skip
    """`StiffnessEstimator.update` after the check: ε into `error`, whether there was an update into `active`.

    numbers: largest torque, μ, δ, smallest r, s of excited motion that a stiffness needs to be `reliable`, and to be
    taken. state (n, P + 1, P): covariance above, coefficients below. quality: excitation, recent and long-term mean
    square of the error, and that of the torque. Where it is taken, or nothing is to `keep`, the state goes `in_force`,
    with its mean square of the error.
    """
    largest, mu, delta, smallest, needed, needed_to_take = numbers
    excitation, recent, wrong_square, usual = quality
    order = state.shape[2]
    psi, product = np.empty(order), np.empty(order + 1)
    for j in range(len(phi)):
        size = abs(phi[j])
        use = size >= fixed[0, j] and size < fixed[1, j] and abs(y[j]) < largest and fresh[j] and excited[j]
        active[j] = use
        value, torque = (phi[j] * fixed[2, j], y[j]) if use else (0.0, 0.0)
        square = value * value
        for p in range(order):
            psi[p] = value
            value *= square
        r = 0.0
        for p in range(order + 1):
            total = 0.0
            for k in range(order):
                total += state[j, p, k] * psi[k]
            product[p] = total
            if p < order:
                r += psi[p] * total
        r = max(r, 0.0)
        off, growth = torque - product[order], 1.0 + r
        c = (mu * r - (1.0 - mu)) / (max(r, smallest) * growth * mu)
        share = off / growth
        for p in range(order):
            for k in range(order):
                state[j, p, k] -= product[p] * product[k] * c
            if use:
                state[j, p, p] += delta
            state[j, order, p] += product[p] * share
        error[j] = off
        sums[0, j] += 1.0 if use else 0.0
        sums[1, j] += off * share
        sums[2, j] += torque * torque
        at_scale = 0.0
        for p in range(order):
            at_scale += (2.0 * p + 1.0) * state[j, order, p]
        rising = state[j, order, 0] > 0.0 and at_scale > 0.0
        fits = wrong_square[j] <= 0.2 * usual[j] and rising
        reliable[j] = fits and excitation[j] >= needed
        takes = fits and recent[j] <= 0.2 * usual[j] and excitation[j] >= needed_to_take
        if not keep[j] or takes:
            square_error[j] = wrong_square[j]
            for p in range(order + 1):
                for k in range(order):
                    in_force[j, p, k] = state[j, p, k]


@compiled
def spring_weight(  # type: ignore[no-untyped-def]
    signals, slip, fixed, noise, lost, described, reliable, wrong_square, state, per_scale
):  # fmt: skip
    """`TorqueFusion.measured` with a spring; return (4, n): weight, deviation of both, of the motor, elastic.

    signals (4, n): ω, rotor acceleration, φ, Coulomb level. slip: H, or None. fixed (2, n): square of the smallest
    deviation, deviation of the rotor inertia. noise: of the friction as a share, 1/speed of slip, square of that of the
    deformation. lost (n,) rad, of the deformation. wrong_square, state: mean square of the error, covariance and
    coefficients in force, as in `stiffness_step`; per_scale: 1/φ_ref.
    """
    share, per_speed, angle = noise
    order, out = state.shape[2], np.empty((4, len(lost)))
    for j in range(len(lost)):
        slipping = min(abs(signals[0, j]) * per_speed, 1.0)
        if slip is not None:
            slipping *= min(abs(slip[j]), 1.0)
        wrong = (share + 0.5 * (1.0 - slipping)) * signals[3, j]
        motor = fixed[0, j] + wrong * wrong
        out[2, j] = np.sqrt(motor)
        x = signals[2, j] * per_scale[j]
        square, slope, power = x * x, 0.0, 1.0
        variance, left = 0.0, x
        for p in range(order):
            odd = (2.0 * p + 1.0) * state[j, order, p]
            slope += odd * power
            power *= square
            total, right = 0.0, x
            for k in range(order):
                total += state[j, p, k] * right
                right *= square
            variance += left * total
            left *= square
        slope *= per_scale[j]
        elastic = described[j] or reliable[j]
        unknown = 0.0 if elastic else 1e12
        spring = unknown + fixed[0, j] + slope * slope * (angle + lost[j] * lost[j]) + variance * wrong_square[j]
        rotor = fixed[1, j] * signals[1, j]
        motor += rotor * rotor
        weight = motor / (motor + spring)
        out[0, j], out[1, j], out[3, j] = weight, np.sqrt(weight * spring), 1.0 if elastic else 0.0
    return out


@compiled
def contact_ratio(  # type: ignore[no-untyped-def]
    evidence, elastic, doubted, omega, counts, numbers, fixed, levels, seen, counters, base, contact, scratch
):  # fmt: skip
    """`ContactDetector.update` up to its events: error over threshold, and whether that is a contact.

    evidence (6, n): of `Evidence`, in its order; elastic, doubted (n,) bool as there. counts (2, 3, 3) bool. numbers:
    deviations, omega_min, learning, settle, slip, confirm, margin, share of a change. fixed (2, n): floor, square of
    the noise. levels (2, 3, 3, n): squares and largest. seen (3, n). counters (7, n): still, fast, one way, over,
    raised, ratio, armed. base (2, n). contact: bool. scratch (7, n): errors, regime, changes, whether not to be learnt,
    for `contact_levels`.
    """
    deviations, omega_min, learning_time, settle, slip, confirm, margin, change_share = numbers
    still, fast, one_way, over_for, raised, ratio, armed = counters
    units = np.empty(3)
    for j in range(len(omega)):
        speed = abs(omega[j])
        still[j] = still[j] + 1.0 if speed < 0.2 * omega_min else 0.0
        way = 0.0 if speed < omega_min else np.sign(omega[j])
        one_way[j] = one_way[j] + way if way * one_way[j] > 0.0 else way
        slides = abs(one_way[j]) >= slip
        fast[j] = 0.0 if speed < 5.0 * omega_min else fast[j] + 1.0
        regime = 2 if still[j] >= settle else 0 if fast[j] >= slip else 1
        change, change_lost = evidence[2, j] - base[0, j], evidence[4, j] - base[1, j]
        of_change = change_share * change_lost
        units[0] = np.sqrt(evidence[1, j] * evidence[1, j] + fixed[1, j])
        units[1] = np.sqrt(of_change * of_change + evidence[5, j] * evidence[5, j] + fixed[1, j])
        units[2] = np.sqrt(evidence[3, j] * evidence[3, j] + fixed[1, j])
        scratch[0, j], scratch[1, j], scratch[2, j] = abs(evidence[0, j]), abs(change), abs(evidence[2, j])
        learning = seen[regime, j] < learning_time
        most, distrusted = 0.0, False
        for side in range(3):
            scratch[side, j] /= units[side]
            limit = max(deviations * np.sqrt(levels[0, side, regime, j]), margin * levels[1, side, regime, j])
            limit = max(limit, fixed[0, j] / units[side]) * raised[j]
            if learning or not counts[1 if elastic[j] else 0, side, regime]:
                continue
            # A joint that slides feels a push on both sides; one that rests or reverses may hold it by friction.
            value = change if side == 1 else evidence[2, j]
            if elastic[j] and regime > 0 and (doubted[j] or (slides and evidence[0, j] * value < 0.5 * value * value)):
                distrusted = distrusted or scratch[side, j] > limit
            else:
                most = max(most, scratch[side, j] / limit)
        if distrusted:
            base[0, j], base[1, j] = evidence[2, j], evidence[4, j]
        # What has begun goes on through a regime that cannot tell.
        over = contact[j] if learning else most > 1.0
        over_for[j] = over_for[j] + 1.0 if over else 0.0
        ratio[j], armed[j], contact[j] = most, 0.0 if learning else 1.0, over_for[j] >= confirm
        scratch[3, j], scratch[4, j], scratch[5, j] = regime, change, change_lost
        scratch[6, j] = 1.0 if over or distrusted else 0.0


@compiled
def contact_levels(adapted, since, numbers, levels, seen, base, scratch):  # type: ignore[no-untyped-def]
    """The rest of `ContactDetector.update`, after its events: levels, largest errors and base are learnt.

    numbers: learning, memory, patience, forget, follow, bound.
    """
    learning_time, memory, patience, forget, follow, bound = numbers
    for j in range(len(adapted)):
        regime, known = int(scratch[3, j]), scratch[6, j] == 0.0 or since[j] > patience
        if known and adapted[j]:
            count = seen[regime, j]
            for side in range(3):
                error, square, largest = scratch[side, j], levels[0, side, regime, j], levels[1, side, regime, j]
                taken, peak = error * error, error
                # One sample adds a bounded amount, so that a push that just misses the threshold raises it little.
                if count >= learning_time:
                    taken, peak = min(taken, 9.0 * square), min(error, bound * np.sqrt(square))
                levels[0, side, regime, j] = square + (taken - square) / min(count + 1.0, memory)
                levels[1, side, regime, j] = max(largest * (1.0 - forget), peak)
            seen[regime, j] = count + 1.0
        if known:
            base[0, j] += follow * scratch[4, j]
            base[1, j] += follow * scratch[5, j]
