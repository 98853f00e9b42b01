import type { ApplyEngine } from '../config/apply.ts'

/** The name of HAProxy's driver. */
const HAPROXY = 'layer7proxy'

/**
 * Enforces HAProxy's configuration by a plan that is made with `now`, as all later plans are. If this fails, `here` is
 * as before, and the log has the reason. Returns whether it succeeded.
 */
export async function tellHaproxy<T>(
  engine: Pick<ApplyEngine, 'converge'>,
  here: { current: T },
  now: T,
): Promise<boolean> {
  const before = here.current
  here.current = now
  let isTold = false
  try {
    isTold = (await engine.converge(({ name }) => name === HAPROXY)).ok
    return isTold
  } finally {
    if (!isTold) here.current = before
  }
}
