/** Under which names next-auth keeps a sign-in: the second where people come by https. */
export const signInCookies = [
  { name: "next-auth.session-token", secure: false },
  { name: "__Secure-next-auth.session-token", secure: true },
] as const;
