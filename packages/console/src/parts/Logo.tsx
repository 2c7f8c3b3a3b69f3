export function Logo() {
  return (
    <svg width="26" height="26" viewBox="0 0 32 32" aria-hidden="true">
      <path d="M7 25V14a9 9 0 0 1 18 0v11" fill="none" stroke="currentColor" strokeWidth="3" />
      <path d="M16 9v16" stroke="#e0ab4a" strokeWidth="3" />
    </svg>
  );
}
