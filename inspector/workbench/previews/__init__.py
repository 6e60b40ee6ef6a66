"""What every tier would do where we stand, before anybody asks for it."""
