/**
 * The rules of passwords, after NIST SP 800-63B §5.1.1.2: long enough, not one of those that everybody tries first, not
 * the account's own name. No kinds of characters are required, as that makes passwords no harder to guess.
 */
const LENGTH_MIN = 8
const LENGTH_MAX = 1024

/**
 * The most used passwords of eight or more characters in published lists of leaked ones. Compared without case and
 * without a suffix.
 */
const COMMON: ReadonlySet<string> = new Set(
  `password passw0rd p@ssw0rd p@ssword pa55word 12345678 123456789 1234567890 0123456789 987654321 9876543210 87654321
  11111111 00000000 88888888 12341234 11223344 123123123 123321123 147258369 123654789 qwertyui qwertyuiop qwerty123
  qwerty1234 1q2w3e4r 1q2w3e4r5t 1qaz2wsx q1w2e3r4 zaq12wsx asdfghjk asdfghjkl zxcvbnm1 abcdefgh abcd1234 abc12345
  a1b2c3d4 iloveyou sunshine princess football baseball basketball superman batman123 starwars whatever trustno1
  jennifer michelle charlie1 computer internet corvette mercedes maverick midnight liverpool welcome welcome1 letmein
  letmein1 changeme changeit administrator admin123 adminadmin rootroot testtest test1234 default1 loadbalancer haproxy1
  fulcrum1 fulcrumadmin secret123 access14 mustang1 dragon12 monkey12 shadow12 master12 michael1 samsung1 pokemon1`.split(
    /\s+/,
  ),
)

export interface Owner {
  readonly email: string
  readonly firstName?: string | undefined
  readonly lastName?: string | undefined
}

/** Returns the rules that a user's password breaks, in words that do not repeat it. */
export function policyProblems(password: string, owner: Owner): readonly string[] {
  const problems: string[] = []
  const { length } = Array.from(password)
  if (length < LENGTH_MIN) problems.push(`must have at least ${LENGTH_MIN} characters`)
  if (length > LENGTH_MAX) problems.push(`must have at most ${LENGTH_MAX} characters`)
  const folded = password.toLowerCase()
  if (new Set(folded).size < 3) problems.push('must not repeat one or two characters')
  // A common word with a usual suffix is still common.
  const bare = folded.replace(/[\d\W_]{0,4}$/, '')
  if (COMMON.has(folded) || COMMON.has(bare)) problems.push('must not be a common password')
  if (namesOf(owner).some((name) => folded === name || bare === name))
    problems.push('must not be the e-mail or the name of the user')
  return problems
}

function namesOf({ email, firstName = '', lastName = '' }: Owner): readonly string[] {
  const [local = ''] = email.split('@')
  return [email, local, firstName, lastName, `${firstName}${lastName}`, `${firstName} ${lastName}`]
    .map((name) => name.toLowerCase().trim())
    .filter((name) => name.length > 2)
}
