/** Returns the message of an error, or any other thrown value as text. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
