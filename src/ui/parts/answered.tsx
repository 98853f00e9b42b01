import type { ComponentChildren } from 'preact'
import { Loading, Problem } from './basic.tsx'

interface AnsweredProps<T> {
  readonly of: T | undefined
  readonly problem: string | undefined
}

/** What an answer holds. Until it comes, and where it is refused, nobody says that there is nothing. */
export const Answered = <T,>({
  of,
  problem,
  children,
}: AnsweredProps<T> & { readonly children: (answer: T) => ComponentChildren }) => (
  <>
    <Problem text={problem} />
    {of !== undefined ? children(of) : problem === undefined ? <Loading /> : null}
  </>
)

/** A list of a few, or what is said where there is none. */
export const Rows = <T extends { readonly id: string }>({
  empty = null,
  children,
  ...list
}: AnsweredProps<readonly T[]> & {
  readonly empty?: ComponentChildren
  readonly children: (one: T) => ComponentChildren
}) => (
  <Answered {...list}>
    {(all) =>
      all.length === 0 ? (
        empty
      ) : (
        <ul class="plain rows">
          {all.map((one) => (
            <li key={one.id}>{children(one)}</li>
          ))}
        </ul>
      )
    }
  </Answered>
)
