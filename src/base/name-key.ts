/**
 * Returns the form in which names are compared: ignoring case, and whether an accented letter is sent as one character
 * or two.
 */
export const nameKey = (name: string): string => name.toLowerCase().normalize('NFC')
