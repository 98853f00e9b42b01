import type { ApplyEngine } from '../config/apply.ts'

/** The name of its driver. */
const HAPROXY = 'layer7proxy'

/**
 * Has HAProxy told by a plan that is made with `now`, as all plans are from here on. Where it was not told, `here` is
 * as before, and the log says why. Answers whether it was.
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
