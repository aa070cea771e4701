"""Which further terms the torque needs: the candidates, and the choice by held-out data."""
